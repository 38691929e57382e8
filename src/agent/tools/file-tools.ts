import { InvalidArgumentError } from "../../errors/error-classes.js";
import { toBase64 } from "../../shared/base64.js";
import { boundLines, boundText } from "../bounded-text.js";
import { editText } from "../edit-text.js";
import type { EntryInfo } from "../entry-info.js";
import { imageTypeOf } from "../image-type.js";
import { readTextFile } from "../read-text-file.js";
import { defineTool, type Tool } from "../tool.js";
import { QUICK_MS, SANDBOX_ID, type ToolContext } from "../tool-context.js";

const PATH = { type: "string", isRequired: true, description: "Absolute, or relative to the home directory." } as const;
const MAX_ENTRIES = 500;

export function fileTools({ session, changes, maxTextLength }: ToolContext): Tool[] {
  return [
    defineTool({
      name: "read_file",
      description:
        "Read a file of the sandbox: a text, or an image (PNG, JPEG, GIF, WebP). Of a long text, read a part with offset and limit.",
      parameters: {
        path: PATH,
        offset: { type: "integer", minimum: 1, maximum: 1_000_000_000, default: 1, description: "First line, counted from 1." },
        limit: { type: "integer", minimum: 1, maximum: 1_000_000_000, description: "Number of lines. The default is all." },
        sandbox_id: SANDBOX_ID,
      },
      run: ({ path, offset, limit, sandbox_id }, { signal }) =>
        session.use(sandbox_id, QUICK_MS, async (sandbox) => {
          const file = await readTextFile(sandbox, path, { signal });
          if ("bytes" in file) {
            const mimeType = imageTypeOf(file.bytes);
            return { content: [{ type: "image", data: toBase64(file.bytes), mimeType: mimeType ?? "" }], isError: false };
          }
          return showLines(file.text, offset, limit, maxTextLength);
        }),
    }),
    defineTool({
      name: "write_file",
      description:
        "Write a text into a file of the sandbox. Directories are made, and a file that is there is replaced; to change a part use edit_file.",
      parameters: {
        path: PATH,
        content: { type: "string", isRequired: true, description: "The whole content." },
        sandbox_id: SANDBOX_ID,
      },
      run: ({ path, content, sandbox_id }, { signal }) =>
        session.use(sandbox_id, QUICK_MS, async (sandbox) => {
          const write = () => sandbox.files.write(path, content, { signal });
          const written = await changes.run(path, write, sandbox.sandboxId);
          return `Wrote ${new TextEncoder().encode(content).length} bytes to ${written.path}.`;
        }),
    }),
    defineTool({
      name: "edit_file",
      description:
        "Replace a piece of text in a file of the sandbox. The old text must stand there exactly once, with the same white space, unless replace_all is set.",
      parameters: {
        path: PATH,
        old_text: { type: "string", isRequired: true, description: "What is replaced: enough lines to be found once." },
        new_text: { type: "string", isRequired: true, description: "What takes its place." },
        replace_all: { type: "boolean", default: false, description: "Replace every occurrence." },
        sandbox_id: SANDBOX_ID,
      },
      run: ({ path, old_text, new_text, replace_all, sandbox_id }, { signal }) =>
        session.use(sandbox_id, QUICK_MS, async (sandbox) => {
          const edit = async () => {
            const file = await readTextFile(sandbox, path, { signal });
            if (!("text" in file)) throw new InvalidArgumentError(`${path} is an image`);
            const edited = editText(file.text, { oldText: old_text, newText: new_text, replaceAll: replace_all });
            return { edited, written: await sandbox.files.write(path, edited.text, { signal }) };
          };
          const { edited, written } = await changes.run(path, edit, sandbox.sandboxId);
          return `Replaced ${edited.count} ${edited.count === 1 ? "place" : "places"} in ${written.path}, the first in line ${edited.line}.`;
        }),
    }),
    defineTool({
      name: "list_files",
      description: "List a directory of the sandbox.",
      parameters: {
        path: { type: "string", default: ".", description: "Absolute, or relative to the home directory, which is the default." },
        depth: { type: "integer", minimum: 1, maximum: 10, default: 1, description: "Levels of directories." },
        sandbox_id: SANDBOX_ID,
      },
      run: ({ path, depth, sandbox_id }, { signal }) =>
        session.use(sandbox_id, QUICK_MS, async (sandbox) => {
          const entries = await sandbox.files.list(path, { depth, signal });
          return entries.length === 0 ? `${path} is empty.` : boundLines(entries.map(toLine), MAX_ENTRIES, "entries");
        }),
    }),
  ];
}

function toLine({ path, type, size, symlinkTarget }: EntryInfo): string {
  if (symlinkTarget !== undefined) return `${path} -> ${symlinkTarget}`;
  return type === "dir" ? `${path}/` : `${path}\t${size} bytes`;
}

function showLines(text: string, offset: number, limit: number | undefined, maxTextLength: number): string {
  if (text === "") return "The file is empty.";
  const lines = text.replace(/\n$/, "").split("\n");
  const end = limit === undefined ? lines.length : Math.min(lines.length, offset - 1 + limit);
  if (offset > lines.length) return `The file has ${lines.length} lines, so none from line ${offset} on.`;
  const shown = boundText(lines.slice(offset - 1, end).join("\n"), maxTextLength);
  return offset === 1 && end === lines.length ? shown : `[lines ${offset} to ${end} of ${lines.length}]\n${shown}`;
}
