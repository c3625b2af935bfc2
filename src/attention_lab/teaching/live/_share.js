// In the book, a figure offers a link that carries its state, so that a teacher can send it. The
// state is what its controls hold, in their order; a link that does not fit them is passed over.
if (!window.AlShare) {
  const MARK = "#al-";
  const CONTROLS = "input, textarea, select, [aria-pressed]";
  const encode = (value) => btoa(Array.from(new TextEncoder().encode(JSON.stringify(value)),
    (byte) => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_")
    .replace(/=+$/, "");
  const decode = (text) => JSON.parse(new TextDecoder().decode(Uint8Array.from(
    atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0))));

  window.AlShare = class AlShare {
    constructor(figure) {
      const twins = [...document.querySelectorAll(figure.localName)];
      Object.assign(this, { figure, root: figure.shadowRoot });
      this.name = `${figure.localName}.${twins.indexOf(figure)}`;
    }

    static of(figure) {
      if (!document.querySelector(".bd-article")) return; // not a page of the book
      const share = new AlShare(figure);
      share.row();
      share.restore();
      addEventListener("hashchange", () => share.restore());
    }

    get controls() {
      return [...this.root.querySelectorAll(CONTROLS)];
    }

    static held(control) {
      if (control.hasAttribute("aria-pressed")) return control.ariaPressed === "true";
      return control.type === "checkbox" ? control.checked : control.value;
    }

    // Whether a value is one that the control can hold: true or false, an option that it has.
    static fits(control, value) {
      if (typeof AlShare.held(control) === "boolean") return typeof value === "boolean";
      const twin = control.cloneNode(true);
      twin.value = value;
      return twin.value === value && twin.selectedIndex !== -1;
    }

    static put(control, value) {
      if (AlShare.held(control) === value) return;
      if (typeof value === "boolean") return control.click();
      control.value = value;
      for (const type of ["input", "change"]) {
        control.dispatchEvent(new Event(type, { bubbles: true }));
      }
    }

    link() {
      const state = { [this.name]: this.controls.map(AlShare.held) };
      return location.href.split("#")[0] + MARK + encode(state);
    }

    restore() {
      if (!location.hash.startsWith(MARK)) return;
      let values;
      try {
        values = decode(location.hash.slice(MARK.length))[this.name];
      } catch {
        return; // cut off on its way here
      }
      if (!Array.isArray(values) || values.length !== this.controls.length) return;
      if (!values.every((value, i) => AlShare.fits(this.controls[i], value))) return;
      values.forEach((value, i) => AlShare.put(this.controls[i], value));
      this.figure.scrollIntoView({ block: "center" });
    }

    row() {
      const { h, button } = AlFigure;
      const said = h("span", { class: "quiet", "aria-live": "polite" });
      const click = () => {
        const link = this.link();
        history.replaceState(null, "", link);
        const copied = navigator.clipboard ? navigator.clipboard.writeText(link) : Promise.reject();
        copied.then(() => "Copied.", () => "It is in the address bar now.")
          .then((text) => said.replaceChildren(text));
      };
      this.figure.frame.append(
        h("div", { class: "link" }, button("link to these numbers", click), said));
    }
  };
}
