// The page: it moves bytes between files, the worker and the document, and computes nothing.
"use strict";

const at = (id) => document.getElementById(id);
let worker = null;
let waiting = null;
let table = null;
let predicted = { text: "", name: "", records: [] };
let asked = [];

const status = (text) => { at("status").textContent = text; };
const fail = (text) => { at("error").textContent = text; at("error").hidden = !text; };

// The program lies in a script as text, since a page opened from a disk may read no other file.
let program = null;
async function load() {
  await new Promise((done, failed) => {
    const script = Object.assign(document.createElement("script"), { src: "rvi.wasm.js", onload: done });
    script.onerror = () => failed(new Error("rvi.wasm.js is missing: build the page by `cargo xtask web`"));
    document.head.append(script);
  });
  program = Uint8Array.from(atob(self.rviProgram), (letter) => letter.charCodeAt(0));
  self.rviProgram = null;
}

function start() {
  if (worker) worker.terminate();
  const text = `"use strict";(${rviWorker})()`;
  worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => {
    if (data.step) return step(data.step);
    const done = waiting;
    waiting = null;
    if (data.fault) {
      const words = `The program has failed, and begins anew. ${fault || data.fault}`;
      fault = "";
      start();
      return done.fail(new Error(words));
    }
    return data.answer.error ? done.fail(new Error(data.answer.error)) : done.take(data.answer);
  };
  fresh = true;
}
let fresh = false;
let fault = "";

// Asks the worker; one request at a time.
function ask(request, file) {
  return new Promise((take, fail) => {
    waiting = { take, fail };
    worker.postMessage({ program: fresh ? program : null, request, file }, file ? [file] : []);
    fresh = false;
  });
}

// Runs one thing that the user has asked for: says so, and shows what went wrong.
async function run(words, work) {
  if (waiting) return;
  fail("");
  status(words);
  document.body.setAttribute("aria-busy", "true");
  const controls = [...document.querySelectorAll("button:not(#stop), input[type=file]")];
  controls.forEach((control) => { control.disabled = true; });
  try {
    status(await work());
  } catch (error) {
    status("");
    fail(error.message);
  }
  document.body.removeAttribute("aria-busy");
  document.querySelectorAll("button, input[type=file]").forEach((control) => { control.disabled = false; });
}

function step(told) {
  if (told.fault) { fault = told.fault; return; }
  if (told.again) { status("The labels come in runs: learning the rows again in a random order…"); return; }
  status(`${told.rows} rows learned…`);
  at("progress").value = told.share;
  if (told.picture) at("learning").innerHTML = told.picture;
}

function download(name, text, type) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function option(text) {
  return Object.assign(document.createElement("option"), { value: text, textContent: text });
}

// A table has been opened, or a model.
function opened(answer) {
  if (answer.html !== undefined) { at("learn").hidden = true; return shown(answer); }
  at("preview").innerHTML = answer.preview;
  at("target").replaceChildren(...answer.columns.map(option));
  at("target").value = answer.target;
  at("learn").hidden = false;
  at("learning").innerHTML = "";
  at("target").focus();
  return `${answer.name} is read: choose the column to predict, and learn.`;
}

function shown(answer) {
  at("shown").innerHTML = answer.html;
  at("learning").innerHTML = "";
  at("model").hidden = at("answers").hidden = false;
  at("certified").disabled = !answer.certified;
  at("certified").checked &&= answer.certified;
  at("predictions").innerHTML = at("explained").innerHTML = "";
  at("save-predictions").hidden = true;
  asked = answer.asked;
  at("row").hidden = asked.length === 0;
  at("row-fields").replaceChildren(...asked.map(field));
  at("model-heading").textContent = `2. ${answer.title}`;
  at("model-heading").focus();
  return `${answer.title} is ready.`;
}

function field(column, k) {
  const label = Object.assign(document.createElement("label"), { textContent: column.name });
  const input = Object.assign(document.createElement("input"), { value: column.usual, autocomplete: "off" });
  if (column.is_number) input.inputMode = "decimal";
  if (column.texts.length > 0) {
    const list = Object.assign(document.createElement("datalist"), { id: `texts-${k}` });
    list.append(...column.texts.map(option));
    input.setAttribute("list", list.id);
    label.append(list);
  }
  label.append(input);
  return label;
}

const inputs = () => [...at("row-fields").querySelectorAll("input")];
const how = () => ({ level: Number(at("level").value), certified: at("certified").checked });
const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

// A file that was chosen or dropped.
function taking(input, zone, take) {
  at(input).addEventListener("change", () => { if (at(input).files[0]) take(at(input).files[0]); });
  const over = (is) => (event) => { event.preventDefault(); at(zone).classList.toggle("over", is); };
  at(zone).addEventListener("dragover", over(true));
  at(zone).addEventListener("dragleave", over(false));
  at(zone).addEventListener("drop", (event) => { over(false)(event); if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]); });
}

const open = (request, file) => run(`Reading ${request.name}…`, async () => {
  table = { request, file };
  return opened(await ask(request, file && await file.arrayBuffer()));
});

taking("table-file", "drop-table", (file) => open({ do: "open", name: file.name, skip_bad: at("skip-bad").checked }, file));
at("skip-bad").addEventListener("change", () => {
  if (table && table.file) open({ ...table.request, skip_bad: at("skip-bad").checked }, table.file);
});

at("learn").addEventListener("submit", (event) => {
  event.preventDefault();
  run("Looking at the first rows…", async () => {
    const since = performance.now();
    at("learning").innerHTML = "";
    at("progress").value = 0;
    at("progress").hidden = at("stop").hidden = false;
    try {
      const answer = await ask({ do: "learn", target: at("target").value, family: at("family").value, shape: at("shape").value });
      return `${shown(answer)} It took ${seconds(since)}.`;
    } finally {
      at("progress").hidden = at("stop").hidden = true;
    }
  });
});

// A pass that is stopped leaves nothing: the program begins anew and reads the table again.
at("stop").addEventListener("click", () => {
  const stopped = waiting;
  waiting = null;
  start();
  at("model").hidden = at("answers").hidden = true;
  stopped.fail(new Error("Stopped; nothing is kept of the pass."));
  setTimeout(() => open(table.request, table.file));
});

at("save").addEventListener("click", () => run("Saving…", async () => {
  const { name, text } = await ask({ do: "save" });
  download(name, text, "application/json");
  return `${name} is saved.`;
}));
at("report").addEventListener("click", () => run("Saving…", async () => {
  const { name, text } = await ask({ do: "report" });
  download(name, text, "text/html");
  return `${name} is saved.`;
}));

taking("rows-file", "drop-rows", (file) => run(`Predicting ${file.name}…`, async () => {
  const since = performance.now();
  predicted = await ask({ do: "predict", name: file.name, skip_bad: at("skip-bad").checked, ...how() }, await file.arrayBuffer());
  at("predictions").innerHTML = predicted.html;
  at("save-predictions").hidden = false;
  at("predictions").focus();
  return `The rows of ${file.name} are predicted. It took ${seconds(since)}.`;
}));
at("save-predictions").addEventListener("click", () => download(predicted.name, predicted.text, "text/csv"));

const explain = () => run("Predicting…", async () => {
  const answer = await ask({ do: "row", fields: inputs().map((input) => input.value), ...how() });
  at("explained").innerHTML = answer.html;
  at("explained").focus();
  return "The row is predicted and explained.";
});
at("row").addEventListener("submit", (event) => { event.preventDefault(); explain(); });
at("predictions").addEventListener("click", (event) => {
  const { row } = event.target.dataset;
  if (row === undefined) return;
  inputs().forEach((input, k) => { input.value = predicted.records[row][k]; });
  explain();
});

// The program is loaded once the page is painted.
requestAnimationFrame(() => setTimeout(async () => {
  try {
    await load();
    start();
    const { samples } = await ask({ do: "samples" });
    at("samples").replaceChildren(...samples.map((name) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
      button.addEventListener("click", () => { at("table-file").value = ""; open({ do: "sample", name }); });
      return button;
    }));
    at("table-file").disabled = false;
    status("Ready.");
  } catch (error) {
    status("");
    fail(error.message);
  }
}));
