// The page: it moves bytes between files, the workers and the document, and computes nothing.
"use strict";

const at = (id) => document.getElementById(id);
// The worker that has the table, and that of the model. A pass makes the first the second, so that one that is stopped leaves the model before it.
let tables = null;
let models = null;
// The file of the table, and that of the predictions that are shown.
let table = null;
let rows = null;
let predicted = { text: "", name: "", records: [] };
let asked = [];
let unsaved = false;
// Reads the file again that was refused last.
let refused = null;
let busy = true;
const STOPPED = new Error("Stopped; nothing is kept of the pass.");
// Fields of a row that are seen at once.
const FIELDS = 40;

const status = (text) => { at("status").textContent = text; };
const fail = (text) => { at("error").textContent = text; at("error").hidden = !text; };
const lock = (is) => {
  busy = is;
  document.body.ariaBusy = is ? "true" : null;
  document.querySelectorAll("fieldset").forEach((set) => { set.disabled = is; });
};
// What is scrolled to is not hidden by the bar.
new ResizeObserver(() => { document.documentElement.style.scrollPaddingTop = `${at("bar").offsetHeight + 16}px`; }).observe(at("bar"));

// The program lies in a script as text, packed, since a page opened from a disk may read no other file.
let program = null;
async function load() {
  await new Promise((done, failed) => {
    const script = Object.assign(document.createElement("script"), { src: "rvi.wasm.js", onload: done });
    script.onerror = () => failed(new Error("rvi.wasm.js is missing: build the page by `cargo xtask web`"));
    document.head.append(script);
  });
  const packed = new Blob([Uint8Array.from(atob(self.rviProgram), (letter) => letter.charCodeAt(0))]);
  self.rviProgram = null;
  program = new Uint8Array(await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

// A worker with a program of its own.
function begin() {
  const text = `"use strict";(${rviWorker})()`;
  const desk = { worker: new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" }))), waiting: null, program, fault: "" };
  desk.worker.onmessage = ({ data }) => {
    if (data.step) return step(desk, data.step);
    const done = desk.waiting;
    desk.waiting = null;
    if (data.fault) {
      end(desk);
      return done.fail(new Error(`The program has failed, and begins anew. ${desk.fault || data.fault}`));
    }
    const { error, column } = data.answer;
    return error ? done.fail(Object.assign(new Error(error), { column })) : done.take(data.answer);
  };
  return desk;
}

function end(desk) {
  desk?.worker.terminate();
  if (tables === desk) tables = null;
  if (models === desk) {
    models = null;
    at("model").hidden = at("answers").hidden = true;
  }
}

// Asks a worker; one request at a time.
function ask(desk, request, file) {
  return new Promise((take, fail) => {
    desk.waiting = { take, fail };
    desk.worker.postMessage({ program: desk.program, request, file }, file ? [file] : []);
    desk.program = null;
  });
}

// Runs one thing that the user has asked for: says so, and shows what went wrong; whether it was done.
async function run(words, work) {
  if (busy) return false;
  const focused = document.activeElement;
  fail("");
  status(words);
  lock(true);
  try {
    const { said, show } = await work();
    lock(false);
    status(said);
    if (show) show.focus();
    else focused.focus({ preventScroll: true });
    return true;
  } catch (error) {
    lock(false);
    status("");
    fail(error.message);
    (error.field ?? focused).focus({ preventScroll: !error.field });
    return false;
  }
}

function step(desk, told) {
  if (told.fault) { desk.fault = told.fault; return; }
  if (told.again) { status("The labels come in runs: learning the rows again in a random order…"); return; }
  status(`${told.rows} learned…`);
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

async function read(file) {
  try {
    return await file.arrayBuffer();
  } catch {
    throw new Error(file.size > 2 ** 31 ? "The file is too large for this page." : "The file has changed. Choose it again.");
  }
}

// A table has been opened.
function opened(answer) {
  at("preview").innerHTML = answer.preview;
  at("target").replaceChildren(...answer.columns.map(option));
  at("target").value = answer.target;
  at("learn").hidden = false;
  return { said: `${answer.name} is read: choose the column to predict, and learn.`, show: at("target") };
}

// A model has been opened; it takes the place of another if that is saved, or may be lost.
async function loaded(answer) {
  table = null;
  if (models && unsaved && !await replaced()) {
    end(tables);
    return { said: "The model that is not saved is kept.", show: at("model-heading") };
  }
  return taken(answer, false);
}

function replaced() {
  at("question-words").textContent = `“${at("model-heading").textContent.slice(3)}” is not saved.`;
  at("question").hidden = false;
  at("keep").focus();
  return new Promise((done) => {
    at("replace").onclick = () => { at("question").hidden = true; done(true); };
    at("keep").onclick = () => { at("question").hidden = true; done(false); };
  });
}

// The worker of the table has a model now.
function taken(answer, isNew) {
  if (models !== tables) end(models);
  models = tables;
  unsaved = isNew;
  rows = null;
  at("shown").innerHTML = answer.html;
  at("learning").innerHTML = "";
  at("model").hidden = at("answers").hidden = false;
  at("certified").disabled = !answer.certified;
  at("certified").checked &&= answer.certified;
  at("predictions").innerHTML = at("explained").innerHTML = at("rows-file").value = "";
  at("save-predictions").hidden = true;
  asked = answer.asked;
  at("row").hidden = asked.length === 0;
  const fields = asked.map(field);
  at("row-fields").replaceChildren(...fields.slice(0, FIELDS));
  at("more-fields").replaceChildren(...fields.slice(FIELDS));
  at("more").hidden = fields.length <= FIELDS;
  at("more").open = false;
  at("more").firstElementChild.textContent = `${fields.length - FIELDS} more field${fields.length === FIELDS + 1 ? "" : "s"}`;
  at("ask").textContent = answer.explains ? "Predict and explain this row" : "Predict this row";
  at("model-heading").textContent = `2. ${answer.title}`;
  return { said: `${answer.title} is ready.`, show: at("model-heading") };
}

function field(column, k) {
  const label = Object.assign(document.createElement("label"), { textContent: column.name });
  const input = Object.assign(document.createElement("input"), { value: column.usual, autocomplete: "off" });
  input.addEventListener("input", () => input.removeAttribute("aria-invalid"));
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

const inputs = () => [...at("row").querySelectorAll("input")];
const how = () => ({ level: Number(at("level").value), certified: at("certified").checked });
const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

// A file that was chosen or dropped.
function taking(input, zone, take) {
  // A file that has changed can be chosen again.
  at(input).addEventListener("click", () => { at(input).value = ""; });
  at(input).addEventListener("change", () => { if (at(input).files[0]) take(at(input).files[0]); });
  const over = (is) => (event) => { event.preventDefault(); at(zone).classList.toggle("over", is); };
  at(zone).addEventListener("dragover", over(true));
  at(zone).addEventListener("dragleave", over(false));
  at(zone).addEventListener("drop", (event) => {
    over(false)(event);
    event.stopPropagation();
    const { items, files } = event.dataTransfer;
    if (busy) return fail("The dropped file was not read, since the page is at work. Drop it again afterwards.");
    if (items[0]?.webkitGetAsEntry?.()?.isDirectory) return fail("Drop a file, not a folder.");
    at(input).value = "";
    if (files[0]) take(files[0]);
  });
}
// Elsewhere a browser would leave the page for the file.
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => { event.preventDefault(); fail("Drop the file in one of the boxes with a dashed line."); });

function open(name, file) {
  const request = file ? { do: "open", name, skip_bad: at("skip-bad").checked } : { do: "sample", name };
  return run(`Reading ${name}…`, async () => {
    table = { request, file };
    refused = () => open(name, file);
    at("learn").hidden = true;
    at("learning").innerHTML = "";
    if (!tables || tables === models) tables = begin();
    const answer = await ask(tables, request, file && await read(file));
    refused = null;
    return answer.html === undefined ? opened(answer) : loaded(answer);
  });
}

taking("table-file", "drop-table", (file) => open(file.name, file));
at("skip-bad").addEventListener("change", () => refused?.());

// The table as the worker must have it before a pass: again where a model has taken the worker, or rows that cannot be read are now to be left out.
async function reread() {
  const { request, file } = table;
  const now = file ? { ...request, skip_bad: at("skip-bad").checked } : request;
  if (tables && tables !== models && now.skip_bad === request.skip_bad) return;
  const bytes = file && await read(file);
  if (!tables || tables === models) tables = begin();
  await ask(tables, now, bytes);
  table.request = now;
}

at("learn").addEventListener("submit", (event) => {
  event.preventDefault();
  run("Looking at the first rows, and choosing the model…", async () => {
    const since = performance.now();
    at("learning").innerHTML = "";
    at("progress").removeAttribute("value");
    at("going").hidden = false;
    try {
      await reread();
      const learn = { do: "learn", target: at("target").value, family: at("family").value, shape: at("shape").value };
      const { said, show } = taken(await ask(tables, learn), true);
      return { said: `${said} It took ${seconds(since)}.`, show };
    } catch (error) {
      if (error !== STOPPED) throw error;
      at("learning").innerHTML = "";
      return { said: `${STOPPED.message}${models ? " The model before it is still here." : ""}`, show: at("start") };
    } finally {
      at("going").hidden = true;
    }
  });
});

// A pass that is stopped takes its worker with it; the next reads the table again.
at("stop").addEventListener("click", () => {
  const { waiting } = tables ?? {};
  if (!waiting) return;
  end(tables);
  waiting.fail(STOPPED);
});

const save = (what, type) => run("Saving…", async () => {
  const { name, text } = await ask(models, { do: what });
  download(name, text, type);
  unsaved &&= what !== "save";
  return { said: `${name} is saved.` };
});
at("save").addEventListener("click", () => save("save", "application/json"));
at("report").addEventListener("click", () => save("report", "text/html"));

// Predicts the rows of a file, and goes there if so asked.
const predict = (file, goes) => run(`Predicting ${file.name}…`, async () => {
  const since = performance.now();
  rows = null;
  refused = () => predict(file, goes);
  at("predictions").innerHTML = "";
  at("save-predictions").hidden = true;
  predicted = await ask(models, { do: "predict", name: file.name, skip_bad: at("skip-bad").checked, ...how() }, await read(file));
  rows = file;
  refused = null;
  at("predictions").innerHTML = predicted.html;
  at("save-predictions").hidden = false;
  return { said: `The rows of ${file.name} are predicted. It took ${seconds(since)}.`, show: goes && at("predictions") };
});
taking("rows-file", "drop-rows", (file) => predict(file, true));
at("save-predictions").addEventListener("click", () => download(predicted.name, predicted.text, "text/csv"));

const explain = (goes) => run("Predicting…", async () => {
  at("explained").innerHTML = "";
  inputs().forEach((input) => input.removeAttribute("aria-invalid"));
  try {
    at("explained").innerHTML = (await ask(models, { do: "row", fields: inputs().map((input) => input.value), ...how() })).html;
  } catch (error) {
    error.field = inputs()[asked.findIndex((column) => column.name === error.column)];
    error.field?.setAttribute("aria-invalid", "true");
    error.field?.closest("details")?.setAttribute("open", "");
    throw error;
  }
  return { said: "The row is predicted.", show: goes && at("explained") };
});
at("row").addEventListener("submit", (event) => { event.preventDefault(); explain(true); });
at("predictions").addEventListener("click", (event) => {
  const { row } = event.target.dataset;
  if (row === undefined) return;
  inputs().forEach((input, k) => { input.value = predicted.records[row][k]; });
  explain(true);
});
// What is shown is computed anew for other intervals.
["level", "certified"].forEach((id) => at(id).addEventListener("change", async () => {
  if (rows && !await predict(rows, false)) return;
  if (at("explained").innerHTML) explain(false);
}));

// The program is loaded once the page is painted.
requestAnimationFrame(() => setTimeout(async () => {
  try {
    await load();
    tables = begin();
    const { samples } = await ask(tables, { do: "samples" });
    at("samples").replaceChildren(...samples.map((name) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
      button.addEventListener("click", () => { at("table-file").value = ""; open(name); });
      return button;
    }));
    lock(false);
    status("Ready.");
  } catch (error) {
    status("");
    fail(error.message);
  }
}));
