import { CommandExitError, type CommandResult, type Commands, InvalidArgumentError } from "../../index.js";
import { assertLogin, type GitLogin, runGit } from "./git-command.js";
import type {
  GitAddOpts,
  GitCloneOpts,
  GitCommitOpts,
  GitConfigOpts,
  GitDangerouslyAuthenticateOpts,
  GitDeleteBranchOpts,
  GitInitOpts,
  GitPullOpts,
  GitPushOpts,
  GitRemoteAddOpts,
  GitRequestOpts,
  GitResetOpts,
  GitRestoreOpts,
} from "./git-options.js";
import { type GitStatus, parseStatus } from "./git-status.js";

/** Branches of a repository. */
export interface GitBranches {
  branches: string[];
  currentBranch?: string;
}

/** Git inside one sandbox: each call runs the `git` of its template. */
export class Git {
  readonly #commands: Commands;

  /** @internal */
  constructor(commands: Commands) {
    this.#commands = commands;
  }

  /** Clone a repository. @throws {@link CommandExitError} git failed; {@link GitAuthError} it was not let in. */
  async clone(url: string, options: GitCloneOpts = {}): Promise<CommandResult> {
    const { path, branch, depth, dangerouslyStoreCredentials } = options;
    const address = dangerouslyStoreCredentials ? withLogin(url, options) : url;
    const flags = [
      ...(branch === undefined ? [] : ["--branch", branch, "--single-branch"]),
      ...(depth === undefined ? [] : ["--depth", `${depth}`]),
    ];
    return this.#run(["clone", ...flags, "--", address, ...(path === undefined ? [] : [path])], options, options);
  }

  /** Make a repository. */
  init(path: string, options: GitInitOpts = {}): Promise<CommandResult> {
    const { bare, initialBranch } = options;
    return this.#run(["init", ...flag("--bare", bare), ...(initialBranch === undefined ? [] : ["-b", initialBranch]), "--", path], options);
  }

  /** Add a remote; with `overwrite` replace its address, with `fetch` get its branches. */
  async remoteAdd(path: string, name: string, url: string, options: GitRemoteAddOpts = {}): Promise<CommandResult> {
    const exists = options.overwrite === true && (await this.remoteGet(path, name, options)) !== undefined;
    const result = await this.#in(path, exists ? ["remote", "set-url", name, url] : ["remote", "add", name, url], options);
    return options.fetch ? this.#in(path, ["fetch", name], options) : result;
  }

  /** Address of a remote; `undefined` when there is none. */
  async remoteGet(path: string, name: string, options?: GitRequestOpts): Promise<string | undefined> {
    return this.#answer(["-C", path, "config", "--get", `remote.${name}.url`], options);
  }

  /** Branch, upstream and files that differ. */
  async status(path: string, options?: GitRequestOpts): Promise<GitStatus> {
    return parseStatus((await this.#in(path, ["status", "--porcelain=1", "-b", "-z"], options)).stdout);
  }

  /** Local branches and the current one. */
  async branches(path: string, options?: GitRequestOpts): Promise<GitBranches> {
    const { stdout } = await this.#in(path, ["branch", "--format=%(HEAD) %(refname:short)"], options);
    const lines = stdout.split("\n").filter((line) => line !== "" && !line.includes("(HEAD detached"));
    const current = lines.find((line) => line.startsWith("* "))?.slice(2);
    return { branches: lines.map((line) => line.slice(2)), ...(current !== undefined && { currentBranch: current }) };
  }

  /** Make a branch and switch to it. */
  createBranch(path: string, branch: string, options?: GitRequestOpts): Promise<CommandResult> {
    return this.#in(path, ["checkout", "-b", branch], options);
  }

  /** Switch to a branch. */
  checkoutBranch(path: string, branch: string, options?: GitRequestOpts): Promise<CommandResult> {
    return this.#in(path, ["checkout", branch], options);
  }

  /** Delete a local branch. @defaultValue `force`, for one that is not merged, is false */
  deleteBranch(path: string, branch: string, options: GitDeleteBranchOpts = {}): Promise<CommandResult> {
    return this.#in(path, ["branch", options.force ? "-D" : "-d", branch], options);
  }

  /** Put changes into the index. @defaultValue all of them */
  add(path: string, options: GitAddOpts = {}): Promise<CommandResult> {
    const { files = [], all = true } = options;
    return this.#in(path, ["add", ...(files.length > 0 ? ["--", ...files] : [all ? "-A" : "."])], options);
  }

  /** Commit what is in the index. */
  commit(path: string, message: string, options: GitCommitOpts = {}): Promise<CommandResult> {
    const { authorName, authorEmail, allowEmpty } = options;
    const author = [...setting("user.name", authorName), ...setting("user.email", authorEmail)];
    return this.#run(["-C", path, ...author, "commit", "-m", message, ...flag("--allow-empty", allowEmpty)], options);
  }

  /** Move the branch, or take paths out of the index. @throws {@link InvalidArgumentError} both `mode` and `paths`. */
  reset(path: string, options: GitResetOpts = {}): Promise<CommandResult> {
    const { mode, target, paths = [] } = options;
    if (mode !== undefined && paths.length > 0) throw new InvalidArgumentError("git.reset takes mode or paths, not both");
    return this.#in(
      path,
      ["reset", ...(mode ? [`--${mode}`] : []), ...(target ? [target] : []), ...(paths.length > 0 ? ["--", ...paths] : [])],
      options,
    );
  }

  /** Take files back from the index or a commit. @throws {@link InvalidArgumentError} no paths. */
  restore(path: string, options: GitRestoreOpts): Promise<CommandResult> {
    const { paths, staged, worktree, source } = options;
    if (paths.length === 0) throw new InvalidArgumentError("git.restore needs at least one path");
    const from = source === undefined ? [] : [`--source=${source}`];
    return this.#in(path, ["restore", ...flag("--staged", staged), ...flag("--worktree", worktree), ...from, "--", ...paths], options);
  }

  /** Push a branch. @throws {@link GitUpstreamError} it has no upstream; {@link GitAuthError} git was not let in. */
  async push(path: string, options: GitPushOpts = {}): Promise<CommandResult> {
    const { remote, branch, setUpstream = true } = options;
    // Without a name git finds remote and branch by itself, or says that there is no upstream.
    const target = remote === undefined && branch === undefined ? [] : [remote ?? (await this.#remoteOf(path, options)), branch ?? "HEAD"];
    return this.#in(path, ["push", ...flag("--set-upstream", setUpstream && target.length > 0), ...target], options, options);
  }

  /** Fetch and merge. @throws {@link GitUpstreamError} the branch has no upstream; {@link GitAuthError} git was not let in. */
  async pull(path: string, options: GitPullOpts = {}): Promise<CommandResult> {
    const { remote, branch } = options;
    const from = branch === undefined ? (remote === undefined ? [] : [remote]) : [remote ?? (await this.#remoteOf(path, options)), branch];
    return this.#in(path, ["pull", ...from], options, options);
  }

  /** Set a value of the configuration. */
  setConfig(key: string, value: string, options: GitConfigOpts = {}): Promise<CommandResult> {
    return this.#run([...scopeOf(options), key, value], options);
  }

  /** Value of a setting; `undefined` when there is none. */
  async getConfig(key: string, options: GitConfigOpts = {}): Promise<string | undefined> {
    return this.#answer([...scopeOf(options), "--get", key], options);
  }

  /** Set name and email of the author of commits. */
  async configureUser(name: string, email: string, options: GitConfigOpts = {}): Promise<CommandResult> {
    if (name === "" || email === "") throw new InvalidArgumentError("git.configureUser needs a name and an email");
    await this.setConfig("user.name", name, options);
    return this.setConfig("user.email", email, options);
  }

  /** Store credentials in the home directory of the user, for all repositories; everybody in the sandbox can read them. */
  async dangerouslyAuthenticate(options: GitDangerouslyAuthenticateOpts): Promise<CommandResult> {
    const { username, password, host = "github.com", protocol = "https" } = options;
    if (!username || !password) throw new InvalidArgumentError("git.dangerouslyAuthenticate needs username and password");
    await this.#run(["config", "--global", "credential.helper", "store"], options);
    const { envs, user, cwd, timeoutMs, requestTimeoutMs, signal } = options;
    const facts = { GIT_FACTS: `protocol=${protocol}\nhost=${host}\nusername=${username}\npassword=${password}\n\n` };
    return this.#commands.run('printf "%s" "$GIT_FACTS" | git credential approve', {
      user,
      cwd,
      timeoutMs,
      requestTimeoutMs,
      signal,
      envs: { ...envs, ...facts },
    });
  }

  async #remoteOf(path: string, options: GitRequestOpts): Promise<string> {
    const { stdout } = await this.#in(path, ["remote"], options);
    const names = stdout.split("\n").filter((name) => name !== "");
    const [name] = names;
    if (name === undefined) throw new InvalidArgumentError(`the repository ${path} has no remote: name one`);
    if (names.includes("origin")) return "origin";
    if (names.length > 1) throw new InvalidArgumentError(`the repository ${path} has several remotes (${names.join(", ")}): name one`);
    return name;
  }

  /** What git prints; `undefined` when it says by its exit code that there is nothing. */
  async #answer(args: readonly string[], options: GitRequestOpts | undefined): Promise<string | undefined> {
    try {
      return (await this.#run(args, options)).stdout.trimEnd();
    } catch (error) {
      if (error instanceof CommandExitError && error.exitCode === 1) return undefined;
      throw error;
    }
  }

  #in(path: string, args: readonly string[], options: GitRequestOpts | undefined, login?: GitLogin): Promise<CommandResult> {
    return this.#run(["-C", path, ...args], options, login);
  }

  #run(args: readonly string[], options: GitRequestOpts | undefined, login?: GitLogin): Promise<CommandResult> {
    return runGit(this.#commands, args, options, login);
  }
}

function flag(name: string, isOn: boolean | undefined): string[] {
  return isOn ? [name] : [];
}

function setting(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : ["-c", `${name}=${value}`];
}

function scopeOf({ scope = "global", path }: GitConfigOpts): string[] {
  if (scope !== "local") return ["config", `--${scope}`];
  if (path === undefined) throw new InvalidArgumentError('the scope "local" needs the path of a repository');
  return ["-C", path, "config", "--local"];
}

function withLogin(url: string, login: GitLogin): string {
  assertLogin(login);
  if (login.username === undefined) return url;
  const address = new URL(url);
  address.username = encodeURIComponent(login.username);
  address.password = encodeURIComponent(login.password ?? "");
  return address.href;
}
