import { describe, expect, it } from "vitest";
import { Template } from "../../src/index.js";

type Step = { readonly type: string; readonly args: readonly string[] };

/** Steps of a Dockerfile after the user and directory with which every import begins, before those with which it may end. */
async function importOf(content: string, buildArgs: Record<string, string> = {}) {
  const json = await Template.toJSON(Template().fromDockerfile(content, { buildArgs }), false);
  const wire = JSON.parse(json) as { fromImage: string; steps: Step[]; startCmd?: string };
  const steps = wire.steps.map(({ type, args }) => [type, ...args]);
  expect(steps.slice(0, 2)).toEqual([
    ["USER", "root"],
    ["WORKDIR", "/"],
  ]);
  return { image: wire.fromImage, steps: steps.slice(2), start: wire.startCmd };
}

const END = [
  ["USER", "user"],
  ["WORKDIR", "/home/user"],
];
const failure = (line: number, text: string) => ({
  name: "InvalidArgumentError",
  message: expect.stringMatching(new RegExp(`^Dockerfile line ${line}: .*${text}`)) as string,
});

describe("TPL-08: COPY and ADD", () => {
  it("keep all sources, the owner and the mode, in both forms", async () => {
    const { steps } = await importOf(
      'FROM debian\nCOPY a b c d/\nCOPY --chown=1:1 --chmod=755 x y\nADD ["a b","c"]\nCOPY *.txt docs/\nCOPY --link /abs z\n',
    );
    expect(steps).toEqual([
      ["COPY", "a", "d/", "", ""],
      ["COPY", "b", "d/", "", ""],
      ["COPY", "c", "d/", "", ""],
      ["COPY", "x", "y", "1:1", "0755"],
      ["COPY", "a b", "c", "", ""],
      ["COPY", "*.txt", "docs/", "", ""],
      ["COPY", "abs", "z", "", ""],
      ...END,
    ]);
  });

  it.each([
    ["COPY --from=build /a /b", "--from=build"],
    ["COPY a b c", "ends with"],
    ["COPY a", "a source and a destination"],
    ["ADD https://example.com/x /x", "URL"],
    ["ADD x.tar.gz /x", "archive"],
    ["COPY ../secret /x", "context directory"],
    ["COPY --parents a b", "--parents"],
    ["COPY <<EOF /x\nhello\nEOF", "here-document"],
  ])("%j is refused and the line is named", (instruction, text) => {
    expect(() => Template().fromDockerfile(`FROM debian\n# a comment\n${instruction}\n`)).toThrow(
      expect.objectContaining(failure(3, text)),
    );
  });
});

describe("TPL-09: CMD, ENV, USER and WORKDIR", () => {
  it.each([
    ['CMD ["a","b c"]', "'a' 'b c'"],
    ["CMD a && b", "a && b"],
    ['ENTRYPOINT ["run", "--x"]\nCMD ["y"]', "'run' --x y"],
    ["ENTRYPOINT run --x\nCMD y", "run --x"],
    ['CMD ["first"]\nCMD ["last"]', "'last'"],
    ["CMD []", undefined],
  ])("%j starts %j", async (text, start) => {
    expect((await importOf(`FROM debian\n${text}\n`)).start).toBe(start);
  });

  it("read pairs with quotes, the older form of ENV, and variables", async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a Dockerfile
    const { steps } = await importOf("FROM debian\nENV A=1 B=\"x y\" C=\\$no\nENV D e  f\nENV E=$A-${B}-${NO:-none} F='$A'\nWORKDIR /$A\n");
    expect(steps).toEqual([
      ["ENV", "A", "1", "B", "x y", "C", "$no"],
      ["ENV", "D", "e  f"],
      ["ENV", "E", "1-x y-none", "F", "$A"],
      ["WORKDIR", "/1"],
      ["USER", "user"],
    ]);
  });

  it("let ARG fill FROM and be a variable of RUN, but not of the sandbox", async () => {
    const text = "ARG TAG=12\nARG OTHER\nFROM debian:$TAG\nARG TAG\nARG WHO=me\nRUN echo $WHO\nENV WHO=you\nRUN echo $WHO\n";
    expect(await importOf(text)).toEqual({
      image: "debian:12",
      steps: [["RUN", "export TAG=12 WHO=me\necho $WHO"], ["ENV", "WHO", "you"], ["RUN", "export TAG=12\necho $WHO"], ...END],
      start: undefined,
    });
    expect((await importOf(text, { TAG: "13" })).image).toBe("debian:13");
  });

  it("keep relative directories relative, and the last user and directory as those of the sandbox", async () => {
    const { steps } = await importOf("FROM debian\nWORKDIR a\nWORKDIR b\nUSER app\n");
    expect(steps).toEqual([
      ["WORKDIR", "a"],
      ["WORKDIR", "b"],
      ["USER", "app"],
    ]);
  });

  it("join continued lines across comments, take CRLF, other escapes and here-documents", async () => {
    const { steps } = await importOf(
      '# syntax=docker/dockerfile:1\r\nfrom debian\r\nRUN a \\\r\n # between\r\n\r\n  && b\r\nRUN <<EOF\r\none\r\ntwo\r\nEOF\r\nRUN ["x", "y z"]\r\n',
    );
    expect(steps).toEqual([["RUN", "a   && b"], ["RUN", "set -e\none\ntwo\n"], ["RUN", "'x' 'y z'"], ...END]);
    expect((await importOf("# escape=`\nFROM debian\nRUN a `\n b\n")).steps[0]).toEqual(["RUN", "a  b"]);
  });

  it.each([
    ["VOLUME /x", "VOLUME"],
    ['SHELL ["x"]', "SHELL"],
    ["ONBUILD RUN x", "ONBUILD"],
    ["HEALTHCHECK CMD x", "HEALTHCHECK"],
    ["RUN --mount=type=cache x", "--mount"],
    ["FROM other", "more than one stage"],
    ["ENV A", "no value"],
    ["RUN <<EOF\nno end", "has no end"],
    ["NOPE x", "NOPE"],
    ["RUN", "needs arguments"],
  ])("%j is refused and the line is named", (instruction, text) => {
    expect(() => Template().fromDockerfile(`FROM debian\n${instruction}\n`)).toThrow(expect.objectContaining(failure(2, text)));
  });

  it("ignore what has no meaning for a sandbox", async () => {
    expect((await importOf("FROM debian\nLABEL a=b\nEXPOSE 80\nMAINTAINER me\nSTOPSIGNAL SIGINT\n")).steps).toEqual(END);
  });
});
