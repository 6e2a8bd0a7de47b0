// The page in a real browser: node page.mjs PAGE RVI [CHROMIUM]. It needs playwright-core and axe-core.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const [page, rvi] = process.argv.slice(2, 4).map((path) => resolve(path));
const program = process.argv[4] ?? "chromium";
const executablePath = program.includes("/") ? program : execFileSync("which", [program], { encoding: "utf8" }).trim();
const folder = mkdtempSync(join(tmpdir(), "rvi-page-"));
const pictures = resolve("pictures");
mkdirSync(pictures, { recursive: true });
const at = (name) => join(folder, name);
const told = [];
const tell = (line) => { told.push(line); console.log(line); };

// Numbers that are the same on every machine.
let seed = 1;
const uniform = () => { seed = (seed * 48271) % 2147483647; return seed / 2147483647; };
const normal = () => Array.from({ length: 12 }, uniform).reduce((sum, x) => sum + x, -6);
const wide = (rows, columns) => {
  const names = Array.from({ length: columns }, (_, k) => `x${k}`);
  const lines = Array.from({ length: rows }, () => {
    const x = names.map(normal);
    const y = 2 + Math.sin(2 * x[0]) + x[1] * x[2] + x.reduce((sum, value, k) => sum + value / (k + 1), 0) + 0.5 * normal();
    return [...x, y].map((value) => value.toFixed(4)).join(",");
  });
  return [[...names, "y"].join(","), ...lines, ""].join("\n");
};

const server = createServer((request, answer) => {
  const name = basename(new URL(request.url, "http://page").pathname) || "index.html";
  const kinds = { html: "text/html", css: "text/css", js: "text/javascript" };
  try {
    answer.writeHead(200, { "content-type": kinds[name.split(".").pop()] }).end(readFileSync(join(page, name)));
  } catch {
    answer.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const hosted = `http://127.0.0.1:${server.address().port}/`;
const opened = pathToFileURL(join(page, "index.html")).href;

const context = await chromium.launchPersistentContext(at("profile"), {
  executablePath, headless: true, acceptDownloads: true, viewport: { width: 1300, height: 900 },
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"],
});
const requests = [];
context.on("request", (request) => requests.push(request.url()));

async function visit(address) {
  const tab = await context.newPage();
  tab.setDefaultTimeout(240_000);
  const wrong = [];
  tab.on("pageerror", (error) => wrong.push(String(error)));
  tab.on("console", (message) => { if (message.type() === "error") wrong.push(message.text()); });
  await tab.goto(address);
  await tab.waitForFunction(() => document.getElementById("status").textContent === "Ready.");
  return { tab, wrong };
}
const status = (tab) => tab.textContent("#status");
const settled = async (tab, words) => {
  await tab.waitForFunction((words) => document.getElementById("status").textContent.includes(words) || !document.getElementById("error").hidden, words);
  assert.equal(await tab.textContent("#error"), "");
};
const refused = async (tab) => {
  await tab.waitForSelector("#error:not([hidden])");
  return tab.textContent("#error");
};
const idle = (tab) => tab.waitForFunction(() => !document.body.hasAttribute("aria-busy"));
// The words of the command as the page tells them.
const onPage = (words) => {
  const own = words.trim().replace(/^rvi: /, "").replace("`--skip-bad` skips such rows", "tick “leave out rows that cannot be read”");
  return own.includes("`--") ? `${own}\nWords with -- are options of the command rvi.` : own;
};
// Whether the page is not wider than the screen.
const fits = async (tab) => {
  const [across, screen] = await tab.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(across <= screen, `the page is ${across} wide on a screen of ${screen}`);
};
// Whether the page keeps the rules of accessibility: WCAG 2 (A and AA) and axe's best practice.
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const accessible = async (tab) => {
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "best-practice"], preload: false }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), []);
};
const saved = async (tab, button, name) => {
  const [download] = await Promise.all([tab.waitForEvent("download"), tab.click(button)]);
  await download.saveAs(at(name));
  return readFileSync(at(name), "utf8");
};
const command = (...words) => spawnSync(rvi, words, { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
const fields = (csv) => csv.trim().split("\n").map((line) => line.split(","));
const same = (a, b) => {
  const [left, right] = [fields(a), fields(b)];
  assert.equal(left.length, right.length);
  let most = 0;
  left.forEach((row, k) => row.forEach((field, j) => {
    if (field === right[k][j]) return;
    most = Math.max(most, Math.abs(field - right[k][j]) / Math.max(1, Math.abs(field)));
  }));
  assert.ok(most < 1e-9, `predictions differ by ${most}`);
  return most;
};

// Nothing is asked of any place but the page's own folder, opened or hosted.
for (const address of [opened, hosted]) {
  const { tab, wrong } = await visit(address);
  const paint = await tab.evaluate(() => performance.getEntriesByType("paint").find((entry) => entry.name === "first-contentful-paint")?.startTime);
  const ready = await tab.evaluate(() => performance.now());
  tell(`${address.split(":")[0]}: first paint after ${Math.round(paint)} ms, ready within ${Math.round(ready)} ms`);
  assert.ok(paint < 1000);
  await accessible(tab);

  // By the keyboard alone: a table, its target, the model.
  await tab.focus("#samples button:first-child");
  await tab.keyboard.press("Enter");
  await settled(tab, "choose the column");
  assert.equal(await tab.evaluate(() => document.activeElement.id), "target");
  assert.equal(await tab.inputValue("#target"), "class");
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Tab");
  assert.equal(await tab.evaluate(() => document.activeElement.id), "start");
  await tab.keyboard.press("Enter");
  await settled(tab, "The model of class (");
  assert.equal(await tab.evaluate(() => document.activeElement.id), "model-heading");
  assert.equal(await tab.textContent("#model-heading"), "2. The model of class (biopsy.csv)");
  const report = await tab.textContent("#shown");
  for (const words of ["683 rows", "log loss", "Reliability", "Loss along the rows", "Coefficients", "certified"]) assert.ok(report.includes(words), words);
  assert.ok(await tab.locator("#shown svg").count() >= 8);
  // A line in plain words stands on top, the bar hides no heading, and a probability names its class.
  const short = await tab.textContent("#shown > .short:first-child");
  assert.match(short, /^Learned from 683 rows.* Right class in 9\d % of the rows; log loss 0\.\d+, of a guess without the inputs 0\.6/);
  const below = await tab.evaluate(() => document.getElementById("model-heading").getBoundingClientRect().top - document.getElementById("bar").getBoundingClientRect().bottom);
  assert.ok(below >= 0, `the heading is ${-below} under the bar`);
  tell(`${address.split(":")[0]}: ${await status(tab)}`);
  await tab.click("#ask");
  await settled(tab, "The row is predicted");
  await idle(tab);
  const heads = await tab.locator("#explained table").first().locator("caption, th.number").allTextContents();
  assert.deepEqual(heads, ["The prediction, with 90 % intervals of p(malignant)", "p(malignant)", "lower", "upper"]);
  assert.deepEqual(wrong, []);
  await tab.close();
}

const { tab, wrong } = await visit(opened);

// What cannot be read is told as the command tells it, with the boxes of the page for its options.
const broken = { "ragged.csv": "a,y\n1,2\n3\n", "words.csv": `a,y\n${Array.from({ length: 3000 }, (_, k) => `${k === 2500 ? "x" : uniform()},${uniform()}\n`).join("")}`, "twice.csv": "a,a,y\n1,2,3\n", "empty.csv": "", "alone.csv": "a,y\n" };
for (const [name, text] of Object.entries(broken)) {
  writeFileSync(at(name), text);
  const words = onPage(command("fit", name, "--target", "y").stderr);
  await tab.setInputFiles("#table-file", at(name));
  await idle(tab);
  if (await tab.isHidden("#error")) await tab.click("#start");
  assert.equal(await refused(tab), words);
}
// A row that cannot be read can be left out.
await tab.setInputFiles("#table-file", at("words.csv"));
await settled(tab, "choose the column");
// Of a file whose first read goes well the box holds for the pass, and leaves the choices as they are.
await tab.selectOption("#target", "a");
await tab.selectOption("#target", "y");
await tab.selectOption("#shape", "line");
await tab.check("#skip-bad");
await tab.click("#start");
await settled(tab, "The model of y (");
assert.equal(await tab.inputValue("#shape"), "line");
await tab.selectOption("#shape", "auto");
assert.ok((await tab.textContent("#shown .notes")).includes("1 rows of words.csv were left out"));
// The number of a predicted row is that of the file.
writeFileSync(at("gap.csv"), "a\n0.1\nx\n0.3\n");
await tab.setInputFiles("#rows-file", at("gap.csv"));
await settled(tab, "are predicted");
assert.deepEqual(await tab.locator("#predictions td button").allTextContents(), ["explain row 1", "explain row 3"]);
// What is refused leaves nothing of the file before it, and is read again when the box is ticked.
await tab.uncheck("#skip-bad");
await tab.setInputFiles("#rows-file", []);
await tab.setInputFiles("#rows-file", at("gap.csv"));
assert.ok((await refused(tab)).includes("tick “leave out rows that cannot be read”"));
assert.equal(await tab.textContent("#predictions"), "");
assert.ok(await tab.isHidden("#save-predictions"));
await tab.check("#skip-bad");
await settled(tab, "are predicted");
await tab.uncheck("#skip-bad");
await tab.setInputFiles("#table-file", at("twice.csv"));
await refused(tab);
assert.ok(await tab.isHidden("#learn"));
// A file that has changed, and a folder, are told in plain words.
await tab.setInputFiles("#table-file", at("alone.csv"));
await settled(tab, "choose the column");
await tab.selectOption("#target", "y");
writeFileSync(at("alone.csv"), "a,y\n1,2\n1,3\n");
await tab.check("#skip-bad");
await tab.click("#start");
assert.equal(await refused(tab), "The file has changed. Choose it again.");
await tab.uncheck("#skip-bad");
await tab.evaluate(() => {
  const dataTransfer = { items: [{ webkitGetAsEntry: () => ({ isDirectory: true }) }], files: [new File([], "folder")] };
  document.getElementById("drop-table").dispatchEvent(Object.assign(new Event("drop", { cancelable: true }), { dataTransfer }));
});
assert.equal(await tab.textContent("#error"), "Drop a file, not a folder.");

// A number: curves with bands, certified intervals, and a model that the command reads.
await tab.click("#samples button:nth-child(2)");
await settled(tab, "choose the column");
await tab.screenshot({ path: join(pictures, "table-1300.png"), fullPage: true });
await tab.click("#start");
await settled(tab, "The model of price (");
tell(`houses: ${await status(tab)}`);
assert.ok((await tab.textContent("#shown")).includes("90 % interval"));
const houses = readFileSync(new URL("houses.csv", import.meta.url), "utf8").split("\n");
const few = [houses[0], ...houses.slice(400, 520), ""].join("\n");
writeFileSync(at("few.csv"), few);
const model = await saved(tab, "#save", "houses.rvi");
assert.ok(command("inspect", "houses.rvi").stdout.includes("800 rows learned"));
await tab.setInputFiles("#rows-file", at("few.csv"));
await settled(tab, "are predicted");
const own = await saved(tab, "#save-predictions", "own.csv");
tell(`predictions of the page and of the command differ by ${same(own, command("predict", "houses.rvi", "few.csv").stdout)} at most`);
// What is shown is computed anew for other intervals, and says which they are.
const caption = (words) => tab.waitForFunction((words) => document.querySelector("#predictions caption")?.textContent.endsWith(words), words);
await tab.selectOption("#level", "0.5");
await caption("with 50 % intervals");
await tab.selectOption("#level", "0.9");
await caption("with 90 % intervals");
await tab.check("#certified");
await caption("with guaranteed 90 % intervals");
same(await saved(tab, "#save-predictions", "own.csv"), command("predict", "houses.rvi", "few.csv", "--certified").stdout);
await tab.uncheck("#certified");

// A row of the table, then one that is typed, are explained.
await tab.click("#predictions button[data-row='3']");
await settled(tab, "row is predicted");
const typed = await tab.inputValue("#row-fields label:nth-child(3) input");
assert.equal(typed, houses[403].split(",")[2]);
await tab.fill("#row-fields label:nth-child(3) input", "200");
await tab.keyboard.press("Enter");
await settled(tab, "row is predicted");
await idle(tab);
assert.equal(await tab.evaluate(() => document.activeElement.id), "explained");
for (const words of ["(average row)", "size", "(this row)"]) assert.ok((await tab.textContent("#explained")).includes(words), words);
await tab.fill("#row-fields label:nth-child(3) input", "large");
await tab.keyboard.press("Enter");
// What is wrong with it is told where the user is.
assert.ok((await refused(tab)).endsWith(": `large` is not a number"));
const seen = await tab.locator("#error").boundingBox();
assert.ok(seen.y >= 0 && seen.y + seen.height < 900, JSON.stringify(seen));
const wrongField = await tab.evaluate(() => [document.activeElement.value, document.activeElement.ariaInvalid]);
assert.deepEqual(wrongField, ["large", "true"]);
await tab.screenshot({ path: join(pictures, "error-1300.png") });
await tab.fill("#row-fields label:nth-child(3) input", "120");
await tab.fill("#row-fields label:nth-child(2) input", "Atlantis");
await tab.keyboard.press("Enter");
await settled(tab, "row is predicted");
await idle(tab);
assert.ok((await tab.textContent("#explained .notes")).includes("`Atlantis` is unknown to the model"));
await tab.fill("#row-fields label:nth-child(3) input", "120");
await tab.keyboard.press("Enter");
await settled(tab, "row is predicted");
await idle(tab);
await tab.screenshot({ path: join(pictures, "model-1300.png"), fullPage: true });
await accessible(tab);
await tab.setViewportSize({ width: 400, height: 800 });
await tab.screenshot({ path: join(pictures, "model-400.png"), fullPage: true });
await fits(tab);
await accessible(tab);
await tab.locator("#explained").screenshot({ path: join(pictures, "explained-400.png") });
await tab.setViewportSize({ width: 1300, height: 900 });
assert.ok((await saved(tab, "#report", "report.html")).startsWith("<!DOCTYPE html>"));

// The page reads its own model, and that of the command, and answers as the command does.
for (const name of ["houses.rvi", "command.rvi"]) {
  if (name === "command.rvi") {
    writeFileSync(at("houses.csv"), houses.join("\n"));
    assert.equal(command("fit", "houses.csv", "--target", "price", "-o", name).status, 0);
  }
  await tab.setInputFiles("#table-file", at(name));
  await idle(tab);
  await settled(tab, "The model of price (");
  await tab.setInputFiles("#rows-file", []);
  await tab.setInputFiles("#rows-file", at("few.csv"));
  await settled(tab, "are predicted");
  await idle(tab);
  same(await saved(tab, "#save-predictions", "read.csv"), command("predict", name, "few.csv").stdout);
}
writeFileSync(at("damaged.rvi"), model.replace('"rows":', '"rows": '));
await tab.setInputFiles("#table-file", at("damaged.rvi"));
assert.equal(await refused(tab), onPage(command("inspect", "damaged.rvi").stderr));

// Names and texts of a file are no markup.
writeFileSync(at("marks.csv"), `"<img src=x onerror=alert(1)>",y\n${Array.from({ length: 90 }, (_, k) => `<b>${"pq"[k % 2]}</b>,${k % 2 + uniform()}\n`).join("")}`);
await tab.setInputFiles("#table-file", at("marks.csv"));
await settled(tab, "choose the column");
await idle(tab);
await tab.click("#start");
await settled(tab, "The model of y (");
assert.equal(await tab.locator("#shown img, #shown b, #preview img, #preview b").count(), 0);

// A model that is not saved is not lost without a question.
for (const [button, heading] of [["#keep", "2. The model of y (marks.csv)"], ["#replace", "2. The model of price (houses.rvi)"]]) {
  await tab.setInputFiles("#table-file", []);
  await tab.setInputFiles("#table-file", at("houses.rvi"));
  await tab.waitForSelector("#question:not([hidden])");
  assert.equal(await tab.textContent("#question-words"), "“The model of y (marks.csv)” is not saved.");
  await tab.click(button);
  await idle(tab);
  assert.equal(await tab.textContent("#model-heading"), heading);
}

// Three classes have a probability each and no explanation; long names stay on a narrow screen; of many fields the first are shown.
const long = `${"a_long_name_without_a_space_".repeat(4)}.csv`;
const columns = Array.from({ length: 60 }, (_, k) => `column_${"of_a_long_name_".repeat(3)}${k}`);
const classes = Array.from({ length: 90 }, (_, k) => [...columns.map(() => uniform().toFixed(3)), "uvw"[k % 3]].join(","));
writeFileSync(at(long), [[...columns, "y"].join(","), ...classes, ""].join("\n"));
await tab.setViewportSize({ width: 400, height: 800 });
await tab.setInputFiles("#table-file", at(long));
await settled(tab, "choose the column");
await idle(tab);
await tab.selectOption("#shape", "line");
await tab.click("#start");
await settled(tab, "The model of y (");
await tab.selectOption("#shape", "auto");
await tab.setInputFiles("#rows-file", at(long));
await settled(tab, "are predicted");
await idle(tab);
assert.deepEqual(await tab.locator("#predictions th.number").allTextContents(), ["row", "p(u)", "p(v)", "p(w)"]);
assert.equal(await tab.locator("#predictions button").count(), 0);
assert.equal(await tab.textContent("#ask"), "Predict this row");
assert.equal(await tab.textContent("#more summary"), "20 more fields");
await fits(tab);
await tab.screenshot({ path: join(pictures, "long-400.png"), fullPage: true });
await tab.setViewportSize({ width: 1300, height: 900 });

// A file is dropped as well as chosen.
const dropped = await tab.evaluateHandle((text) => {
  const moved = new DataTransfer();
  moved.items.add(new File([text], "dropped.csv"));
  return moved;
}, few);
await tab.dispatchEvent("#drop-table", "drop", { dataTransfer: dropped });
await settled(tab, "dropped.csv is read");
await idle(tab);

// A large table is learned in view of the user, and can be stopped.
writeFileSync(at("wide.csv"), wide(10_000, 10));
for (const shape of ["line", "smooth", "auto"]) {
  await tab.setInputFiles("#table-file", []);
  await tab.setInputFiles("#table-file", at("wide.csv"));
  await settled(tab, "choose the column");
  await idle(tab);
  await tab.selectOption("#shape", shape);
  const since = Date.now();
  await tab.click("#start");
  await settled(tab, "The model of y (");
  tell(`10,000 rows of 10 columns, shape ${shape}: ${Date.now() - since} ms; ${await status(tab)}`);
  await idle(tab);
}
writeFileSync(at("long.csv"), wide(60_000, 10));
await tab.setInputFiles("#table-file", at("long.csv"));
await settled(tab, "long.csv is read");
await idle(tab);
await tab.click("#start");
await tab.waitForSelector("#learning svg", { state: "attached" });
assert.ok(await tab.isDisabled("#target"));
await tab.dispatchEvent("#drop-table", "drop", { dataTransfer: dropped });
assert.ok((await tab.textContent("#error")).startsWith("The dropped file was not read"));
await tab.screenshot({ path: join(pictures, "learning-1300.png") });
await tab.click("#stop");
await idle(tab);
// The model before it is there, and answers.
assert.equal(await status(tab), "Stopped; nothing is kept of the pass. The model before it is still here.");
assert.equal(await tab.textContent("#model-heading"), "2. The model of y (wide.csv)");
await tab.click("#ask");
await settled(tab, "row is predicted");
await idle(tab);
await tab.selectOption("#shape", "line");
await tab.click("#start");
await settled(tab, "The model of y (");

// Every control has a name, and the page itself forbids connections.
const nameless = await tab.evaluate(() => [...document.querySelectorAll("input, select, button")].filter((control) => !(control.labels?.length || control.textContent.trim())).map((control) => control.outerHTML));
assert.deepEqual(nameless, []);
const leaves = await tab.evaluate(() => fetch("https://example.org/").then(() => "left", () => "stayed"));
assert.equal(leaves, "stayed");
assert.deepEqual(wrong.filter((line) => !line.includes("example.org")), []);

const files = requests.filter((address) => !/^(blob|data):/.test(address) && !address.includes("example.org"));
const names = new Set(files.map((address) => basename(new URL(address).pathname) || "index.html"));
assert.ok(files.every((address) => address.startsWith(hosted) || address.startsWith(pathToFileURL(page).href)), files.join("\n"));
assert.deepEqual([...names].sort(), ["app.js", "index.html", "rvi.wasm.js", "style.css", "worker.js"]);
tell(`requests: ${files.length}, all of the five files of the page`);
const size = readFileSync(join(page, "rvi.wasm.js"));
const bytes = Buffer.from(/"([^"]*)"/.exec(size)[1], "base64");
tell(`program: ${gunzipSync(bytes).length} bytes, ${bytes.length} by gzip; as the script of the page ${size.length}, ${gzipSync(size).length} by gzip`);
assert.ok(gzipSync(size).length < 3 << 20);

await context.close();
server.close();
rmSync(folder, { recursive: true });
console.log("1 passed, 0 failed");
