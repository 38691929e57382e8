import { InvalidArgumentError } from "../../errors/error-classes.js";

/** One step of a build, checked. */
export type BuildStep = { readonly isForced: boolean } & (
  | { readonly type: "RUN"; readonly command: string; readonly user: string | undefined }
  | {
      readonly type: "COPY";
      readonly source: string;
      readonly destination: string;
      readonly owner: string | undefined;
      /** Octal digits. */
      readonly mode: string | undefined;
      readonly filesHash: string;
    }
  | { readonly type: "ENV"; readonly envs: Readonly<Record<string, string>> }
  | { readonly type: "WORKDIR"; readonly path: string }
  | { readonly type: "USER"; readonly name: string }
);

/** A step as it stands on the wire. */
export interface WireStep {
  readonly type: BuildStep["type"];
  readonly args?: readonly string[];
  readonly filesHash?: string;
  readonly force?: boolean;
}

const ENV_NAME = /^[^=\0]+$/;
const USER_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$/;
const MODE = /^[0-7]{3,4}$/;

/**
 * Read the steps of a request.
 *
 * @throws {@link InvalidArgumentError} the arguments of a step do not fit its type; the message counts steps from 1.
 */
export function parseSteps(steps: readonly WireStep[]): BuildStep[] {
  return steps.map((step, index) => {
    const refuse = (what: string): never => {
      throw new InvalidArgumentError(`step ${index + 1} (${step.type}): ${what}`);
    };
    const args = step.args ?? [];
    const badArg = args.findIndex((arg) => arg.includes("\0"));
    if (badArg >= 0) refuse(`argument ${badArg + 1} holds NUL`);
    return { isForced: step.force === true, ...parseStep(step, args, refuse) };
  });
}

type Unforced<Step> = Step extends unknown ? Omit<Step, "isForced"> : never;

function parseStep({ type, filesHash }: WireStep, args: readonly string[], refuse: (what: string) => never): Unforced<BuildStep> {
  const [first = "", second = "", third = "", fourth = ""] = args;
  switch (type) {
    case "RUN":
      if (first.trim() === "") refuse("a command is required");
      if (second !== "" && !USER_NAME.test(second)) refuse(`"${second}" is no user name`);
      return { type, command: first, user: second || undefined };
    case "COPY":
      if (first === "" || second === "") refuse("a source and a destination are required");
      if (first.startsWith("/") || first.split("/").includes("..")) refuse(`the source "${first}" leads out of the context directory`);
      if (third !== "" && !USER_NAME.test(third)) refuse(`"${third}" is no owner`);
      if (fourth !== "" && !MODE.test(fourth)) refuse(`"${fourth}" is no octal mode`);
      if (filesHash === undefined) return refuse("filesHash is required");
      return {
        type,
        source: first,
        destination: second,
        owner: third || undefined,
        mode: fourth || undefined,
        filesHash: filesHash.toLowerCase(),
      };
    case "ENV": {
      if (args.length === 0 || args.length % 2 !== 0) refuse("pairs of names and values are required");
      const names = args.filter((_, index) => index % 2 === 0);
      const badName = names.find((name) => !ENV_NAME.test(name));
      if (badName !== undefined) refuse(`${JSON.stringify(badName)} is no name of a variable`);
      return { type, envs: Object.fromEntries(names.map((name, index) => [name, args[2 * index + 1] ?? ""])) };
    }
    case "WORKDIR":
      if (first === "") refuse("a path is required");
      return { type, path: first };
    case "USER":
      if (!USER_NAME.test(first)) refuse(`"${first}" is no user name`);
      return { type, name: first.split(":")[0] ?? first };
  }
}

/** The step as it is shown in logs. */
export function describeStep(step: BuildStep): string {
  switch (step.type) {
    case "RUN":
      return `RUN ${step.command}`;
    case "COPY":
      return `COPY ${step.source} ${step.destination}`;
    case "ENV":
      // Values may be secrets.
      return `ENV ${Object.keys(step.envs).join(" ")}`;
    case "WORKDIR":
      return `WORKDIR ${step.path}`;
    case "USER":
      return `USER ${step.name}`;
  }
}
