import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Sandbox } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, platformEnv } from "../support/run-abx.js";
import { HAS_TMUX, openTmux } from "../support/tmux.js";

describeOnPlatform("abx in a real terminal", (platform) => {
  const { apiUrl, sandboxUrl, apiKey } = platform;
  let sandbox: Sandbox;
  let directory: string;
  beforeAll(async () => {
    sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    directory = await mkdtemp(path.join(tmpdir(), "abx-terminal-"));
  });
  afterAll(async () => {
    await sandbox.kill();
    await rm(directory, { recursive: true, force: true });
  });

  /** `$abx` in the line is the program, `$id` the sandbox. */
  const open = (line: string, env: Record<string, string> = {}) =>
    openTmux({ ...platformEnv(platform), abx: `${process.execPath} ${ABX}`, id: sandbox.sandboxId, ...env }, line);

  it.runIf(HAS_TMUX)("shows a live table of sandboxes in abx top, redraws it for a new size and leaves the screen as it was", async () => {
    await using terminal = await open('echo before; $abx top --interval 1; echo "status=$?"');
    const first = await terminal.until(/abx top/);
    expect(first).toContain(sandbox.sandboxId);
    expect(first).not.toContain("before");
    expect(first).toMatch(/CPU +MEMORY/);
    await terminal.until(/\d+\.\d % of \d/);
    const later = /abx top {2}(\S+)/.exec(first)?.[1];
    await terminal.until(new RegExp(`abx top {2}(?!${later})\\S+`));
    await terminal.resize(40, 10);
    const small = await terminal.until(/^ID.{10,40}$/m);
    for (const row of small.split("\n")) expect(row.length).toBeLessThanOrEqual(40);
    await terminal.keys("q");
    expect(await terminal.until(/status=/)).toMatch(/before[\s\S]*status=0/);
    expect(await terminal.screen()).not.toContain("abx top");
  });

  it.runIf(HAS_TMUX)("CLI-10: ends abx top with Ctrl-C and leaves the terminal's settings", async () => {
    await using terminal = await open('before=$(stty -g); $abx top; [ "$before" = "$(stty -g)" ] && echo settings""=same');
    await terminal.until(/abx top/);
    await terminal.keys("C-c");
    expect(await terminal.until(/settings=same/)).not.toContain("abx top");
  });

  it.runIf(HAS_TMUX)(
    "CLI-10: runs a program in a terminal of the sandbox with exec -it, and passes keys, sizes and the status on",
    async () => {
      const program = `read -p 'who? ' name; stty size; test -t 0 && test -t 1 && echo "term=$TERM hello $name"; exit 9`;
      await using terminal = await open('$abx exec -it -e A=b "$id" -- bash -c "$program"; echo "status=$?"; stty -a | grep -o " echo "', {
        program,
      });
      await terminal.until(/who\?/);
      await terminal.type("world");
      await terminal.keys("Enter");
      const text = await terminal.until(/status=\d+/);
      expect(text).toContain("30 110");
      expect(text).toMatch(/term=(tmux|screen)\S* hello world/);
      expect(text).toContain("status=9");
      await terminal.until(/^ echo$/m);
    },
  );

  it.runIf(HAS_TMUX)("gives the terminal to a full-screen program and gets it back", async () => {
    await sandbox.files.write("/home/user/many.txt", Array.from({ length: 200 }, (_, index) => `row ${index}`).join("\n"));
    await using terminal = await open('$abx exec -it "$id" -- less many.txt; echo "status=$?"');
    expect(await terminal.until(/row 20/)).not.toContain("row 150");
    await terminal.type("G");
    await terminal.until(/row 199/);
    await terminal.type("q");
    expect(await terminal.until(/status=0/)).not.toContain("row 199");
  });

  it.runIf(HAS_TMUX)("copies both ways with a bar on the terminal that is gone in the end", async () => {
    const source = path.join(directory, "big.bin");
    await writeFile(source, Buffer.alloc(96 * 1024 * 1024, "0123456789abcdef"));
    await using terminal = await open(
      '$abx cp "$dir/big.bin" "$id":up/ 2>&1 | cat; script -qc "$abx cp \\"$id:up/big.bin\\" \\"$dir/back.bin\\"" "$dir/seen"; echo "status=$?"',
      { dir: directory },
    );
    const text = await terminal.until(/status=\d/);
    expect(text).toContain("status=0");
    // A pipe is no terminal: only the last line.
    expect(text).toMatch(/^abx: copied 96\.0 MiB to \w+:\/home\/user\/up\/big\.bin$/m);
    expect(text).not.toContain("[####");
    const seen = await readFile(path.join(directory, "seen"), "utf8");
    expect(seen).toMatch(/\[#+-*\] {2,3}\d+ % {2}[\d.]+ MiB {2}[\d.]+ MiB\/s/);
    expect((await readFile(path.join(directory, "back.bin"))).equals(await readFile(source))).toBe(true);
  });

  it.runIf(HAS_TMUX)("has colours on a terminal, and none with --no-color, NO_COLOR or in a pipe", async () => {
    await using terminal = await open(
      "clear; $abx list | cat; echo one; $abx list --no-color; echo two; NO_COLOR=1 $abx list; echo three; $abx list; $abx info nosuch; echo done",
    );
    await terminal.until(/^done/m);
    const [plain = "", coloured = ""] = (await terminal.screen(true)).split("three");
    expect(plain).toContain(sandbox.sandboxId);
    expect(plain).not.toContain("\u001b[");
    expect(coloured).toContain("\u001b[1mID");
    expect(coloured).toContain("\u001b[31mabx:");
  });

  it.runIf(HAS_TMUX)("follows the log of a sandbox until it ends, or until Ctrl-C", async () => {
    const other = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    await using terminal = await open('$abx logs -f "$other"; echo "first=$?"; $abx logs -f "$id"; echo "second=$?"', {
      other: other.sandboxId,
    });
    await terminal.until(/was created from template/);
    await other.pause();
    await terminal.until(/paused/);
    await other.kill();
    await terminal.until(/first=0[\s\S]*created/);
    await terminal.keys("C-c");
    await terminal.until(/second=130/);
  });
});
