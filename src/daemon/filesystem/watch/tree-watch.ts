import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { EventType } from "../../../../gen/proto/filesystem/filesystem_pb.js";
import { FailedPreconditionError, NotFoundError } from "../../../errors/error-classes.js";
import { IN, type InotifyEvent } from "../../native/inotify.js";
import { errnoCode } from "../file-error.js";
import { isStaged } from "../staged-name.js";
import type { WatchHub } from "./watch-hub.js";

/** Where a {@link TreeWatch} reports. */
export interface TreeWatchSink {
  /** `name` is relative to the root; `.` is the root itself. */
  onChange(type: EventType, name: string): void;
  /** Nothing follows. */
  onFailure(error: unknown): void;
}

const NODE_MASK = IN.CREATE | IN.DELETE | IN.MODIFY | IN.ATTRIB | IN.MOVED_FROM | IN.MOVED_TO | IN.DELETE_SELF | IN.MOVE_SELF;
const PARENT_MASK = IN.DELETE | IN.MOVED_FROM | IN.MOVED_TO;
/** Directories armed before other work of the daemon gets its turn. */
const ARM_BATCH = 64;

interface Node {
  name: string;
  parent: Node | undefined;
  readonly children: Map<string, Node>;
  /** Names announced by a scan whose own create event may still be queued. */
  announced: Set<string> | undefined;
  stop: () => void;
}

/**
 * Watches one directory, or the tree below it.
 *
 * A directory that appears is armed first and scanned then, so what is created in it meanwhile is found by one or both; what both see is
 * reported once. A rename inside the tree keeps its watches. The root's own removal or move is reported as a change of `.` and ends the
 * watch: a directory made at the same path later is another one.
 */
export class TreeWatch {
  readonly #hub: WatchHub;
  readonly #rootPath: string;
  readonly #recursive: boolean;
  readonly #sink: TreeWatchSink;
  readonly #root: Node = { name: "", parent: undefined, children: new Map(), announced: undefined, stop: () => {} };
  readonly #scanned = new Set<Node>();
  readonly #moving = new Map<number, Node>();
  readonly #releases: (() => void)[] = [];
  #isStarted = false;
  #isClosed = false;

  /** `rootPath` must not lead through links: use the real path. */
  constructor(hub: WatchHub, rootPath: string, recursive: boolean, sink: TreeWatchSink) {
    this.#hub = hub;
    this.#rootPath = rootPath;
    this.#recursive = recursive;
    this.#sink = sink;
  }

  /** Resolves once every change that follows will be reported. */
  async start(): Promise<void> {
    try {
      this.#releases.push(
        this.#hub.onQueue({
          onDrained: () => this.#settle(),
          onOverflow: () => this.#fail(new FailedPreconditionError(OVERFLOW, undefined, "aborted")),
        }),
      );
      this.#arm(this.#root);
      this.#watchParent();
      if (this.#recursive) await this.#armBelow(this.#root);
    } catch (error) {
      this.close();
      throw error;
    }
    this.#isStarted = true;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const release of this.#releases) release();
    this.#drop(this.#root);
    for (const node of this.#moving.values()) this.#drop(node);
    this.#moving.clear();
    this.#scanned.clear();
  }

  #arm(node: Node): void {
    const mask = node === this.#root ? NODE_MASK : NODE_MASK | IN.DONT_FOLLOW;
    node.stop = this.#hub.watch(this.#absolute(node), mask, { onEvent: (event) => this.#onEvent(node, event) });
  }

  /** The kernel reports the removal of a directory late while a process still stands in it; its parent knows at once. */
  #watchParent(): void {
    const parent = dirname(this.#rootPath);
    if (parent === this.#rootPath) return;
    const name = basename(this.#rootPath);
    const onEvent = (event: InotifyEvent): void => {
      if (event.name !== name || (event.mask & PARENT_MASK) === 0) return;
      if ((event.mask & IN.MOVED_FROM) !== 0) this.#rootMoved();
      else this.#rootRemoved();
    };
    this.#releases.push(this.#hub.watch(parent, PARENT_MASK, { onEvent }));
  }

  async #armBelow(root: Node): Promise<void> {
    let armed = 0;
    for (const pending = [root]; pending.length > 0 && !this.#isClosed; ) {
      const node = pending.pop() as Node; // the loop's condition says that there is one
      for (const entry of this.#readDirectory(node)) {
        if (!entry.isDirectory() || node.children.has(entry.name)) continue;
        const child = this.#adopt(node, entry.name);
        if (child !== undefined) pending.push(child);
        if (++armed % ARM_BATCH === 0) await setImmediate();
      }
    }
  }

  /** Arm a directory below `parent`; `undefined` when it vanished. */
  #adopt(parent: Node, name: string): Node | undefined {
    const node: Node = { name, parent, children: new Map(), announced: undefined, stop: () => {} };
    try {
      this.#arm(node);
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
    parent.children.set(name, node);
    return node;
  }

  /** Arm a directory that just appeared and announce what is in it already. */
  #adoptFresh(parent: Node, name: string): void {
    const node = this.#adopt(parent, name);
    if (node === undefined) return;
    node.announced = new Set();
    this.#scanned.add(node);
    for (const entry of this.#readDirectory(node)) {
      if (isStaged(entry.name)) continue;
      node.announced.add(entry.name);
      this.#report(EventType.CREATE, node, entry.name);
      if (entry.isDirectory()) this.#adoptFresh(node, entry.name);
      else if (entry.isFile() && this.#hasContent(node, entry.name)) this.#report(EventType.WRITE, node, entry.name);
    }
  }

  #readDirectory(node: Node): Dirent[] {
    try {
      return readdirSync(this.#absolute(node), { withFileTypes: true });
    } catch (error) {
      if (isGone(error)) return [];
      throw error;
    }
  }

  #hasContent(node: Node, name: string): boolean {
    return (lstatSync(`${this.#absolute(node)}/${name}`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  }

  #onEvent(node: Node, event: InotifyEvent): void {
    if (this.#isClosed) return;
    try {
      if (event.name === "") this.#onOwnEvent(node, event.mask);
      else if (!isStaged(event.name)) this.#onChildEvent(node, event);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Of a directory's own events only those of the root count: the parent reports the others by name. */
  #onOwnEvent(node: Node, mask: number): void {
    if (node !== this.#root) return;
    if ((mask & IN.MOVE_SELF) !== 0) this.#rootMoved();
    else if ((mask & (IN.DELETE_SELF | IN.UNMOUNT | IN.IGNORED)) !== 0) this.#rootRemoved();
    else if ((mask & IN.ATTRIB) !== 0) this.#report(EventType.CHMOD, node, "");
  }

  #onChildEvent(node: Node, { mask, name, cookie }: InotifyEvent): void {
    const isDirectory = this.#recursive && (mask & IN.ISDIR) !== 0;
    if ((mask & (IN.CREATE | IN.MOVED_TO)) !== 0 && !node.announced?.delete(name)) {
      this.#report(EventType.CREATE, node, name);
      if (isDirectory) this.#appear(node, name, cookie);
    }
    if ((mask & IN.MOVED_FROM) !== 0) {
      node.announced?.delete(name);
      this.#report(EventType.RENAME, node, name);
      const child = isDirectory ? this.#detach(node, name) : undefined;
      if (child !== undefined) this.#moving.set(cookie, child);
    }
    if ((mask & IN.ATTRIB) !== 0) this.#report(EventType.CHMOD, node, name);
    if ((mask & IN.MODIFY) !== 0) this.#report(EventType.WRITE, node, name);
    if ((mask & IN.DELETE) !== 0) {
      node.announced?.delete(name);
      this.#report(EventType.REMOVE, node, name);
      const child = isDirectory ? this.#detach(node, name) : undefined;
      if (child !== undefined) this.#drop(child);
    }
  }

  #appear(parent: Node, name: string, cookie: number): void {
    const replaced = this.#detach(parent, name);
    if (replaced !== undefined) this.#drop(replaced);
    const moved = cookie === 0 ? undefined : this.#moving.get(cookie);
    if (moved === undefined) {
      this.#adoptFresh(parent, name);
      return;
    }
    this.#moving.delete(cookie);
    moved.name = name;
    moved.parent = parent;
    parent.children.set(name, moved);
  }

  #detach(parent: Node, name: string): Node | undefined {
    const child = parent.children.get(name);
    parent.children.delete(name);
    return child;
  }

  #drop(node: Node): void {
    node.stop();
    this.#scanned.delete(node);
    for (const child of node.children.values()) this.#drop(child);
    node.children.clear();
  }

  /** Nothing is queued: announced names have had their events, and a directory in motion has left the tree. */
  #settle(): void {
    for (const node of this.#scanned) node.announced = undefined;
    this.#scanned.clear();
    for (const node of this.#moving.values()) this.#drop(node);
    this.#moving.clear();
  }

  #rootRemoved(): void {
    if (this.#isClosed) return;
    this.#report(EventType.REMOVE, this.#root, "");
    this.#fail(new NotFoundError(`the watched directory '${this.#rootPath}' was removed: watch the new one when there is one`));
  }

  #rootMoved(): void {
    if (this.#isClosed) return;
    this.#report(EventType.RENAME, this.#root, "");
    this.#fail(new NotFoundError(`the watched directory '${this.#rootPath}' was moved away: watch its new path`));
  }

  #report(type: EventType, node: Node, name: string): void {
    if (!this.#isStarted || this.#isClosed) return;
    this.#sink.onChange(type, [...this.#names(node), ...(name === "" ? [] : [name])].join("/") || ".");
  }

  #fail(error: unknown): void {
    if (this.#isClosed) return;
    this.close();
    this.#sink.onFailure(error);
  }

  #absolute(node: Node): string {
    return [this.#rootPath === "/" ? "" : this.#rootPath, ...this.#names(node)].join("/") || "/";
  }

  #names(node: Node): string[] {
    const names: string[] = [];
    for (let current: Node | undefined = node; current?.parent !== undefined; current = current.parent) names.unshift(current.name);
    return names;
  }
}

const OVERFLOW =
  "the watch lost events: more changes came at once than the system keeps. List the directory for its present state and watch again";

function isGone(error: unknown): boolean {
  const code = errnoCode(error);
  return code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP" || code === "EACCES";
}
