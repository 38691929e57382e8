import { checkMountCount, checkMountDir, checkText } from "./mount-rules.js";

/** A directory of an OSS bucket. */
export interface FcOssMount {
  /** 3 to 63 characters on OSS, up to 64 here. */
  readonly bucketName: string;
  /** Absolute, at most 64 characters. */
  readonly mountDir: string;
  /** Prefix in the bucket; the credentials inside reach nothing else. @defaultValue the whole bucket */
  readonly bucketPath?: string | undefined;
  /** Such as `https://oss-cn-hangzhou-internal.aliyuncs.com`. */
  readonly endpoint: string;
  /** @defaultValue false */
  readonly readOnly?: boolean | undefined;
}

/** A directory of a NAS file system, given as `host:/path`. */
export interface FcNasMount {
  readonly serverAddr: string;
  readonly mountDir: string;
  readonly enableTLS?: boolean | undefined;
}

/** NAS with the ids that files get. */
export interface FcNas {
  readonly userId?: number | undefined;
  readonly groupId?: number | undefined;
  readonly mountPoints: readonly FcNasMount[];
}

/** A directory of AgenticFS. */
export interface FcAgenticFsMount {
  readonly serverAddr: string;
  /** Absolute, at most 128 characters. */
  readonly mountDir: string;
  readonly fileSystemID?: string | undefined;
  readonly agenticSpaceID?: string | undefined;
  readonly accessPointID?: string | undefined;
}

/** AgenticFS with the ids that files get; the service spells them with a capital `ID` here. */
export interface FcAgenticFs {
  readonly userID?: number | undefined;
  readonly groupID?: number | undefined;
  readonly mountPoints: readonly FcAgenticFsMount[];
}

/** A space of an AgenticBucket. */
export interface FcAgenticBucketMount {
  readonly agenticBucket: string;
  /** The space in the bucket. */
  readonly bucketName: string;
  readonly mountDir: string;
  readonly bucketPath?: string | undefined;
  /** `https://oss-<region>-internal.aliyuncs.com` needs no VPC. */
  readonly endpoint: string;
  readonly readOnly?: boolean | undefined;
}

/** A directory of a JuiceFS volume. */
export interface FcJuiceFsMount {
  readonly volumeName: string;
  readonly mountDir: string;
  readonly remoteDir: string;
  /** Secret of the volume. It becomes part of the metadata, which everybody with the API key can read. */
  readonly token: string;
  /** Arguments of the mount, such as `--writeback`. */
  readonly args?: readonly string[] | undefined;
}

/** JuiceFS with the variables of its client. */
export interface FcJuiceFs {
  readonly envs?: Readonly<Record<string, string>> | undefined;
  readonly mountPoints: readonly FcJuiceFsMount[];
}

/** A directory of PolarFS. */
export interface FcPolarFsMount {
  readonly instanceId: string;
  readonly mountDir: string;
  readonly remoteDir: string;
  readonly readOnly?: boolean | undefined;
}

/** PolarFS with the ids that files get. */
export interface FcPolarFs {
  readonly userId?: number | undefined;
  readonly groupId?: number | undefined;
  readonly mountPoints: readonly FcPolarFsMount[];
}

/** Storage by its kind. */
export interface FcStorage {
  readonly oss?: readonly FcOssMount[] | undefined;
  readonly nas?: FcNas | undefined;
  readonly agenticFs?: FcAgenticFs | undefined;
  readonly agenticBucket?: readonly FcAgenticBucketMount[] | undefined;
  readonly juiceFs?: FcJuiceFs | undefined;
  readonly polarFs?: FcPolarFs | undefined;
}

/** Storage of one kind in the form of the wire. */
export interface FcStorageWire {
  readonly mountPoints: Record<string, unknown>[];
  readonly [name: string]: unknown;
}

const OSS_DIR_LENGTH = 64;
const DIR_LENGTH = 128;
const NAME = { min: 3, max: 64 };
const SHORT = { max: 128 };

/** Check storage and put it into the form of the wire, by the names of {@link FcStorage}. @throws {@link InvalidArgumentError} naming the field. */
export function toStorageWire(storage: FcStorage): Partial<Record<keyof FcStorage, FcStorageWire>> {
  const { oss, nas, agenticFs, agenticBucket, juiceFs, polarFs } = storage;
  return {
    ...(oss && { oss: toWire("oss", { mountPoints: oss }, OSS_DIR_LENGTH, checkBucket) }),
    ...(nas && { nas: toWire("nas", nas, DIR_LENGTH, (at, { serverAddr }) => checkText(`${at}.serverAddr`, serverAddr)) }),
    ...(agenticFs && {
      agenticFs: toWire("agenticFs", agenticFs, DIR_LENGTH, (at, { serverAddr }) => checkText(`${at}.serverAddr`, serverAddr)),
    }),
    ...(agenticBucket && {
      agenticBucket: toWire("agenticBucket", { mountPoints: agenticBucket }, DIR_LENGTH, (at, mount) => {
        checkText(`${at}.agenticBucket`, mount.agenticBucket);
        checkBucket(at, mount);
      }),
    }),
    ...(juiceFs && {
      juiceFs: toWire("juiceFs", { envs: {}, ...juiceFs }, DIR_LENGTH, (at, mount) => {
        for (const field of ["volumeName", "remoteDir", "token"] as const) checkText(`${at}.${field}`, mount[field]);
      }),
    }),
    ...(polarFs && {
      polarFs: toWire("polarFs", polarFs, DIR_LENGTH, (at, mount) => {
        for (const field of ["instanceId", "remoteDir"] as const) checkText(`${at}.${field}`, mount[field]);
      }),
    }),
  };
}

function checkBucket(at: string, { bucketName, bucketPath, endpoint }: Pick<FcOssMount, "bucketName" | "bucketPath" | "endpoint">): void {
  checkText(`${at}.bucketName`, bucketName, NAME);
  if (bucketPath !== undefined) checkText(`${at}.bucketPath`, bucketPath, SHORT);
  checkText(`${at}.endpoint`, endpoint, SHORT);
}

/** Fields that are `undefined` are left out by JSON, as the service wants it. */
function toWire<M extends { readonly mountDir: string }>(
  kind: string,
  storage: { readonly mountPoints: readonly M[] },
  maxLength: number,
  check: (at: string, mount: M) => void,
): FcStorageWire {
  checkMountCount(`extensions.${kind}`, storage.mountPoints);
  storage.mountPoints.forEach((mount, index) => {
    const at = `extensions.${kind}.mountPoints[${index}]`;
    checkMountDir(`${at}.mountDir`, mount.mountDir, maxLength);
    check(at, mount);
  });
  return { ...storage, mountPoints: storage.mountPoints.map((mount) => ({ ...mount })) };
}
