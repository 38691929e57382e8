import { execFile } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { InternalError } from "../../../errors/error-classes.js";
import { messageOf } from "../../../shared/message-of.js";
import { removeTree } from "./sandbox-files.js";

/** File system of a sandbox whose disk is limited: it holds the writable layer and nothing else. */
const IMAGE = "disk.img";
/** Where the image is mounted, in the mount namespace of the runtime helper only. */
const MOUNT_POINT = "disk";
const DEADLINE_MS = 60_000;
const MIB = 1024 * 1024;

/**
 * Without a journal, which costs a kernel thread and a write of everything twice: the disk of a sandbox is worth as much as the sandbox, and
 * one that is attached again is checked first.
 */
const FORMAT = ["-q", "-F", "-m", "0", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard,root_owner=0:0"];

/** Directory below which a sandbox has `upper` and `work`, relative to its own. */
export function writableDir(directory: string): string {
  return existsSync(join(directory, IMAGE)) ? MOUNT_POINT : ".";
}

/** The writable layer of a sandbox; on a disk of its own it is there only while that is mounted. */
export function upperDir(directory: string): string {
  return join(directory, writableDir(directory), "upper");
}

/** True when the files of a sandbox are there, mounted or not. */
export function hasWritableLayer(directory: string): boolean {
  return existsSync(join(directory, IMAGE)) || lstatSync(join(directory, "upper"), { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Disks of limited size as ext4 images on loop devices; the kernel takes no quotas of directories everywhere, but these. */
export class DiskImages {
  readonly #directory: string;
  readonly #formatted = new Map<number, Promise<string>>();

  /** @param directory where one empty image per size is kept to be copied */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Try it; the message of what failed, or `undefined`. */
  async probe(): Promise<string | undefined> {
    const trial = join(this.#directory, `probe-${process.pid}`);
    try {
      mkdirSync(trial, { recursive: true, mode: 0o700 });
      await this.create(trial, 16 * MIB);
      await this.detach(trial);
      return undefined;
    } catch (error) {
      return messageOf(error);
    } finally {
      await this.detach(trial).catch(() => undefined);
      await removeTree(trial);
    }
  }

  /** Give a sandbox directory a disk of this size, empty and mounted. */
  async create(directory: string, sizeBytes: number): Promise<void> {
    const empty = await this.#formattedImage(Math.ceil(sizeBytes / MIB));
    await run("cp", ["--sparse=always", "--", empty, join(directory, IMAGE)]);
    await this.#mount(directory);
  }

  /**
   * Mount the disk of a sandbox directory, if it has one that is not: after a restart of the helper, or of the machine.
   *
   * @param isInUse processes of the sandbox have it mounted: mount(8) then finds its loop device. Else it is checked first.
   */
  async attach(directory: string, isInUse: boolean): Promise<void> {
    if (!existsSync(join(directory, IMAGE)) || isMounted(directory)) return;
    // A status of 1 says that faults were put right.
    if (!isInUse) await run("e2fsck", ["-p", join(directory, IMAGE)]).catch(() => undefined);
    await this.#mount(directory);
  }

  /** Take the mount of this process's namespace away; that of a running sandbox stays. */
  async detach(directory: string): Promise<void> {
    if (isMounted(directory)) await run("umount", ["--", join(directory, MOUNT_POINT)]);
  }

  async #mount(directory: string): Promise<void> {
    const mountPoint = join(directory, MOUNT_POINT);
    mkdirSync(mountPoint, { recursive: true });
    await run("mount", ["-t", "ext4", "-o", "loop,noatime,nodev", "--", join(directory, IMAGE), mountPoint]);
  }

  #formattedImage(sizeMib: number): Promise<string> {
    let image = this.#formatted.get(sizeMib);
    if (image === undefined) {
      image = this.#format(sizeMib);
      this.#formatted.set(sizeMib, image);
      image.catch(() => this.#formatted.delete(sizeMib));
    }
    return image;
  }

  async #format(sizeMib: number): Promise<string> {
    const image = join(this.#directory, `${sizeMib}.img`);
    if (existsSync(image)) return image;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const staged = `${image}.${process.pid}`;
    try {
      await run("mkfs.ext4", [...FORMAT, "--", staged, `${sizeMib}m`]);
      renameSync(staged, image);
    } finally {
      rmSync(staged, { force: true });
    }
    return image;
  }
}

/** A mount point is on another device than its parent. */
function isMounted(directory: string): boolean {
  const inner = statSync(join(directory, MOUNT_POINT), { throwIfNoEntry: false });
  return inner !== undefined && inner.dev !== statSync(directory).dev;
}

async function run(program: string, args: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)(program, args, {
      timeout: DEADLINE_MS,
      env: { ...process.env, PATH: `${process.env.PATH ?? ""}:/usr/sbin:/sbin:/usr/bin:/bin`, LC_ALL: "C" },
    });
  } catch (cause) {
    const { stderr = "", message } = cause as { readonly stderr?: string; readonly message: string };
    throw new InternalError(`${program} failed: ${stderr.trim() || message}`, { cause });
  }
}
