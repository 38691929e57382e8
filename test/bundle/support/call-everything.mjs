// Run by global-classes.test.ts: `before` or `after` the import of the package, the web's classes are replaced, by `subclass` or `polyfill`.
const [when, how, entry] = process.argv.slice(2);

if (when === "before") replaceClasses();
const { Sandbox } = await import(entry);
if (when === "after") replaceClasses();

const { TEST_API_URL: apiUrl, TEST_SANDBOX_URL: sandboxUrl, TEST_API_KEY: apiKey } = process.env;
const options = { apiUrl, sandboxUrl, apiKey };
const sandbox = await Sandbox.create(options);
try {
  await sandbox.files.write("a.txt", "text");
  await sandbox.files.write("b.txt", new Blob(["blob"]));
  await sandbox.files.write([
    { path: "c.txt", data: new Uint8Array([99]).buffer },
    { path: "d.txt", data: new Response("stream").body },
  ]);
  const read = [
    await sandbox.files.read("a.txt"),
    await (await sandbox.files.read("b.txt", { format: "blob" })).text(),
    new TextDecoder().decode(await sandbox.files.read("c.txt", { format: "bytes" })),
    await new Response(await sandbox.files.read("d.txt", { format: "stream" })).text(),
    (await sandbox.files.list(".")).length,
    (await sandbox.commands.run("echo out")).stdout.trim(),
    (await Sandbox.getInfo(sandbox.sandboxId, options)).state,
    (await Sandbox.list({ ...options, limit: 1 }).nextItems()).length,
    await sandbox.isRunning(),
  ];
  console.log(JSON.stringify(read));
} finally {
  await sandbox.kill();
}

function replaceClasses() {
  for (const name of ["Request", "Response", "Headers", "Blob", "FormData"]) {
    const Native = globalThis[name];
    globalThis[name] = how === "subclass" ? class extends Native {} : toPolyfill(Native);
  }
}

/** A class that is no relative of the native one: it holds what it was made from and hands everything on. */
function toPolyfill(Native) {
  class Polyfill {
    #native;
    constructor(...args) {
      this.#native = new Native(...args.map((arg) => arg?.nativeOfPolyfill ?? arg));
    }
    get nativeOfPolyfill() {
      return this.#native;
    }
  }
  for (const member of Reflect.ownKeys(Native.prototype).filter((key) => key !== "constructor" && key !== Symbol.toStringTag)) {
    Object.defineProperty(Polyfill.prototype, member, {
      get() {
        const value = this.nativeOfPolyfill[member];
        return typeof value === "function" ? value.bind(this.nativeOfPolyfill) : value;
      },
    });
  }
  return Polyfill;
}
