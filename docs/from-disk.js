// A page that was opened from disk may start no worker and read no JSON. There the search runs in the page itself, on an
// index that is a script (docs/from_disk.py writes it): this stands in for the worker that search/main.js starts.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor() {
      this.folder = (base_url || ".") + "/search/";
    }
    async postMessage(asked) {
      if (asked.init) {
        for (const name of ["lunr.js", "search_index.js"]) await this.load(name);
        const { config, docs } = window.searchIndex;
        if (config.separator) lunr.tokenizer.separator = new RegExp(config.separator);
        this.index = lunr(function () {
          this.field("title");
          this.field("text");
          this.ref("location");
          docs.forEach(doc => this.add(doc));
        });
        this.docs = Object.fromEntries(docs.map(doc => [doc.location, doc]));
        this.onmessage({ data: { config } });
        this.onmessage({ data: { allowSearch: true } });
      } else if (asked.query) {
        const found = this.index.search(asked.query).map(hit => this.docs[hit.ref]);
        this.onmessage({ data: { results: found.map(doc => ({ ...doc, summary: doc.text.substring(0, 200) })) } });
      }
    }
    load(name) {
      return new Promise((done, failed) => {
        const script = document.createElement("script");
        Object.assign(script, { src: this.folder + name, onload: done, onerror: failed });
        document.head.append(script);
      });
    }
  };
}
