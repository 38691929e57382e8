// The reference of every public entry, from the doc comments. Used by `make docs`, and without output by `make check`.
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Comment, Converter, OptionDefaults, ReflectionKind } from "typedoc";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const { name, exports } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
/** Name of an entry → its source. */
const ENTRIES = new Map(
  Object.entries(exports)
    .filter(([, target]) => target.source !== undefined)
    .map(([entry, { source }]) => [entry.replace(/^\./, name), path.join(ROOT, source)]),
);

/** Shapes from which public types are computed; a reader meets them only spelled out. */
const SHAPES = [
  "AbsentNames",
  "AccessKey",
  "AnthropicContent",
  "ARGUMENT_TYPES",
  "BoundTemplate",
  "CommandShape",
  "createTemplate",
  "Fields",
  "JsonOf",
  "operations",
  "OptionalNames",
  "Platform",
  "ResultForms",
  "ROUTE_METHODS",
  "SandboxAccess",
  "Schemas",
  "SignatureOpts",
  "Split",
  "TemplateDefinition",
  "toMastraTool",
  "UserOption",
  "ValueOf",
];

export default {
  name,
  entryPoints: [...ENTRIES.values()],
  tsconfig: path.join(ROOT, "scripts/reference/tsconfig.json"),
  // `tsc` is another line of `make check`.
  skipErrorChecking: true,
  out: path.join(ROOT, "site"),
  readme: path.join(ROOT, "scripts/reference/begin.md"),
  includeVersion: true,
  disableSources: true,
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  hideGenerator: true,
  sort: ["source-order"],
  kindSortOrder: ["Class", "Function", "Interface", "TypeAlias", "Variable"],
  // OpenAPI's generator writes it.
  blockTags: [...OptionDefaults.blockTags, "@description"],
  requiredToBeDocumented: [
    "Enum",
    "Variable",
    "Function",
    "Class",
    "Interface",
    "TypeAlias",
    "Method",
    "Accessor",
    "CallSignature",
    "GetSignature",
    "SetSignature",
  ],
  intentionallyNotExported: SHAPES,
  validation: { notExported: true, invalidLink: true, invalidPath: true, rewrittenLink: true, notDocumented: true },
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
  plugin: [nameEntries, resolveByName],
};

/** Entries have the names by which they are imported, and the first comment of their file. */
function nameEntries(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const entry of project.getReflectionsByKind(ReflectionKind.Module)) {
      const source = project.getSymbolIdFromReflection(entry)?.fileName;
      const found = [...ENTRIES].find(([, file]) => source?.endsWith(path.relative(ROOT, file)));
      if (found === undefined) throw new Error(`no entry of package.json is made from ${source}`);
      entry.name = found[0];
      const [, text] = /^\/\*\* Entry `[^`]+`: (.+?) \*\/$/m.exec(readFileSync(found[1], "utf8").split("\n")[0]) ?? [];
      if (text !== undefined) entry.comment = new Comment([{ kind: "text", text: text.replace(/^./, (letter) => letter.toUpperCase()) }]);
    }
  });
}

/** A link such as `{@link NotFoundError}` finds the public name in whatever entry it is, the root first; a file need not import it. */
function resolveByName(app) {
  app.converter.addUnknownSymbolResolver((reference, from) => {
    const names = reference.symbolReference?.path?.map((part) => part.path) ?? [];
    const entries = from.project.getReflectionsByKind(ReflectionKind.Module);
    const root = entries.filter((entry) => entry.name === name);
    const target = [...root, ...entries].map((entry) => entry.getChildByName(names)).find((found) => found !== undefined);
    return target && { target };
  });
}
