import { readFile } from "node:fs/promises";

const NETWORK_TYPE = /^(nfs\d?|cifs|smb\d?|smbfs|9p|afs|ceph|glusterfs|lustre|fuse(\..+)?)$/;
/** FUSE file systems that only this machine writes, so the kernel sees every change. */
const LOCAL_FUSE = new Set(["fuse.fuse-overlayfs", "fuse.lxcfs"]);

/**
 * Type of the network or FUSE file system that holds `path` (a real path), `undefined` when it is a local one: the kernel reports no
 * changes that other machines make. Source: /proc/self/mountinfo, proc_pid_mountinfo(5).
 */
export async function networkMountType(path: string): Promise<string | undefined> {
  return networkTypeIn(await readFile("/proc/self/mountinfo", "utf8"), path);
}

/** {@link networkMountType} for the text of a mountinfo file. */
export function networkTypeIn(mountinfo: string, path: string): string | undefined {
  let best = { point: "", type: "" };
  for (const line of mountinfo.split("\n")) {
    const [left, right] = line.split(" - ");
    const point = unescapeOctal(left?.split(" ")[4] ?? "");
    const type = right?.split(" ")[0] ?? "";
    // A later mount on the same point covers the earlier one.
    if (point !== "" && isBelow(path, point) && point.length >= best.point.length) best = { point, type };
  }
  return NETWORK_TYPE.test(best.type) && !LOCAL_FUSE.has(best.type) ? best.type : undefined;
}

function isBelow(path: string, point: string): boolean {
  return path === point || path.startsWith(point.endsWith("/") ? point : `${point}/`);
}

function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
