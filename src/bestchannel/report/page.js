(() => {
  const page = document.querySelector(".bestchannel.page");
  const hint = page.appendChild(document.createElement("div"));
  hint.className = "hint";
  hint.hidden = true;

  const cellOf = (map, event) => {
    const box = map.getBoundingClientRect();
    const [left, top, width, height] = map.getAttribute("viewBox").split(" ").map(Number);
    const rows = map.dataset.w.split(";").map(row => row.split(","));
    const side = Number(map.dataset.cell);
    const y = Math.floor((left + (event.clientX - box.left) * width / box.width) / side);
    const x = Math.floor((top + (event.clientY - box.top) * height / box.height) / side);
    if (!rows[x] || rows[x][y] === undefined) return "";
    const inputs = JSON.parse(map.dataset.inputs), outputs = JSON.parse(map.dataset.outputs);
    const value = rows[x][y] === "" ? "unknown" : (rows[x][y] / 1000).toFixed(3);
    return `input ${inputs[x]}, output ${outputs[y]}: ${value}`;
  };

  const wordsAt = event => {
    const map = event.target.closest("svg[data-w]");
    if (map) return cellOf(map, event);
    const marked = event.target.closest("g, circle");
    const title = marked && [...marked.children].find(child => child.tagName === "title");
    if (!title && !(marked && marked.dataset.hint)) return "";
    if (title) { marked.dataset.hint = title.textContent; title.remove(); marked.setAttribute("aria-label", marked.dataset.hint); }
    return marked.dataset.hint;
  };

  page.addEventListener("pointermove", event => {
    const words = event.target.closest ? wordsAt(event) : "";
    hint.hidden = !words;
    if (!words) return;
    hint.textContent = words;
    const right = document.documentElement.clientWidth - hint.offsetWidth - 8;
    hint.style.left = `${Math.max(8, Math.min(event.clientX + 14, right))}px`;
    hint.style.top = `${Math.max(8, event.clientY - hint.offsetHeight - 12)}px`;
  });
  page.addEventListener("pointerleave", () => { hint.hidden = true; });

  const valueOf = (row, column) => {
    const cell = row.children[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };

  const sort = (table, column, down) => {
    const rows = [...table.tBodies[0].rows];
    const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
    rows.sort((a, b) => (down ? -1 : 1) * order(valueOf(a, column), valueOf(b, column)));
    table.tBodies[0].append(...rows);
  };

  const sortable = (table, chosen) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => order(column, head.getAttribute("aria-sort") !== "descending"));
    });
    const order = (column, down) => {
      heads.forEach(other => other.removeAttribute("aria-sort"));
      heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table, column, down);
    };
    if (chosen) order(...chosen);
  };

  const searchable = (report, search, words) => {
    search.hidden = false;
    const box = search.querySelector("input"), found = search.querySelector("output");
    const named = [...report.querySelectorAll("[data-name]")];
    const unfolded = new Set();
    const find = () => {
      const words = box.value.trim().toLowerCase();
      const names = new Set();
      for (const element of named) {
        const fits = element.dataset.name.toLowerCase().includes(words);
        if (element instanceof SVGElement) element.classList.toggle("dim", !fits);
        else element.hidden = !fits;
        if (!fits) continue;
        names.add(element.dataset.name);
        const fold = element.closest("details");
        if (words && fold && !fold.open) { fold.open = true; unfolded.add(fold); }
      }
      if (!words) { unfolded.forEach(fold => { fold.open = false; }); unfolded.clear(); }
      found.textContent = words ? `${names.size} found` : "";
    };
    box.addEventListener("input", find);
    box.value = words;
    find();
  };

  // What a reader has chosen, to be kept where a report is drawn again.
  page.choices = report => ({
    words: report.querySelector("#search input")?.value ?? "",
    orders: [...report.querySelectorAll("table.sortable")].map(table => {
      const column = [...table.tHead.rows[0].cells].findIndex(head => head.hasAttribute("aria-sort"));
      return column < 0 ? null : [column, table.tHead.rows[0].cells[column].getAttribute("aria-sort") === "descending"];
    }),
  });

  page.liven = (report, { words, orders } = { words: "", orders: [] }) => {
    [...report.querySelectorAll("table.sortable")].forEach((table, i) => sortable(table, orders[i]));
    const search = report.querySelector("#search");
    if (search) searchable(report, search, words);
  };
  page.liven(document);
})();
