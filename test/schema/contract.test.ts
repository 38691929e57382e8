import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ERROR_REASONS } from "../../src/errors/reason.js";

const ROOT = join(import.meta.dirname, "../..");
const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"];

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

async function loadYaml(path: string): Promise<Json> {
  const document: unknown = parse(await readFile(join(ROOT, path), "utf8"));
  if (!isObject(document)) throw new Error(`${path} is not a mapping`);
  return document;
}

/** Places of the document that are schemas but say nothing, as `path.to.schema`. */
function undescribedSchemas(document: Json): string[] {
  const found: string[] = [];
  const visitSchema = (schema: unknown, at: string): void => {
    if (!isObject(schema)) return;
    if (typeof schema.$ref === "string") return;
    if (typeof schema.description !== "string" || schema.description.length < 5) found.push(at);
    for (const group of ["properties", "patternProperties"]) {
      const members = schema[group];
      if (isObject(members)) for (const [name, member] of Object.entries(members)) visitSchema(member, `${at}.${name}`);
    }
    for (const single of ["items", "additionalProperties", "not"]) visitSchema(schema[single], `${at}.${single}`);
    for (const list of ["allOf", "anyOf", "oneOf"]) {
      const members = schema[list];
      if (Array.isArray(members)) for (const [i, member] of members.entries()) visitSchema(member, `${at}.${list}[${i}]`);
    }
  };
  const visit = (node: unknown, at: string): void => {
    if (Array.isArray(node)) for (const [i, item] of node.entries()) visit(item, `${at}[${i}]`);
    if (!isObject(node)) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === "schema") visitSchema(value, `${at}.schema`);
      else if (key === "schemas" && at.endsWith("components") && isObject(value)) {
        for (const [name, schema] of Object.entries(value)) visitSchema(schema, `schemas.${name}`);
      } else visit(value, `${at}.${key}`);
    }
  };
  visit(document, "");
  return found;
}

function operationsOf(document: Json): { readonly id: string; readonly at: string; readonly operation: Json }[] {
  const paths = isObject(document.paths) ? document.paths : {};
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = isObject(item) ? item[method] : undefined;
      return isObject(operation) ? [{ id: String(operation.operationId), at: `${method} ${path}`, operation }] : [];
    }),
  );
}

const documents = (await readdir(join(ROOT, "openapi"))).filter((name) => name.endsWith(".yaml"));

const generatedTypes = (await readdir(join(ROOT, "gen/openapi"))).filter((name) => name.endsWith(".ts"));

/** The file of generated types that has the operations of a document; one without a file of its own is a part of lifecycle.yaml. */
function generatedFor(document: string): string {
  const own = document.replace(/\.yaml$/, ".ts");
  return generatedTypes.includes(own) ? own : "lifecycle.ts";
}

describe("openapi/", () => {
  test.each(documents)("%s describes every schema, field, parameter and header", async (name) => {
    expect(undescribedSchemas(await loadYaml(`openapi/${name}`))).toEqual([]);
  });

  test.each(documents.filter((name) => name !== "common.yaml"))(
    "every operation of %s has a name, a description and described answers",
    async (name) => {
      const operations = operationsOf(await loadYaml(`openapi/${name}`));
      expect(operations.length).toBeGreaterThan(0);
      for (const { id, at, operation } of operations) {
        expect(id, at).toMatch(/^[a-z][A-Za-z0-9]+$/);
        expect(String(operation.description ?? "").length, at).toBeGreaterThan(20);
        expect(
          Object.keys(isObject(operation.responses) ? operation.responses : {}).some((status) => status.startsWith("4")),
          at,
        ).toBe(true);
      }
    },
  );

  test.each(documents.filter((name) => name !== "common.yaml"))("each operation of %s has a generated type", async (name) => {
    const generated = await readFile(join(ROOT, "gen/openapi", generatedFor(name)), "utf8");
    for (const { id } of operationsOf(await loadYaml(`openapi/${name}`))) expect(generated).toContain(`\n    ${id}: {\n`);
  });

  test("ErrorReason in the contract is the list that clients and servers use", async () => {
    const components = (await loadYaml("openapi/common.yaml")).components;
    const schemas = isObject(components) ? components.schemas : undefined;
    const reason = isObject(schemas) ? schemas.ErrorReason : undefined;
    expect(isObject(reason) ? reason.enum : undefined).toEqual([...ERROR_REASONS]);
  });
});

describe("proto/", () => {
  test("every package, service, RPC, message, field and enum value is commented", async () => {
    const files = (await readdir(join(ROOT, "proto"), { recursive: true })).filter((name) => name.endsWith(".proto"));
    expect(files.length).toBeGreaterThan(2);
    const uncommented: string[] = [];
    for (const file of files) {
      const lines = (await readFile(join(ROOT, "proto", file), "utf8")).split("\n");
      lines.forEach((line, i) => {
        const isElement =
          /^\s*(package|service|rpc|message|enum|oneof)\s|^\s*[\w.<>, ]+\s\w+\s*=\s*-?\d+[^;]*;|^\s*[A-Z_0-9]+\s*=\s*\d+;/.test(line);
        if (isElement && !/^\s*\/\/ +\S/.test(lines[i - 1] ?? "")) uncommented.push(`${file}:${i + 1} ${line.trim()}`);
      });
    }
    expect(uncommented).toEqual([]);
  });
});
