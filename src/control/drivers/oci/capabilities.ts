/**
 * Capabilities of root inside a sandbox, in its own user namespace: the set that container engines give by default
 * (capabilities(7) says what each allows). None of them reaches a resource of the host.
 */
export const SANDBOX_CAPABILITIES: readonly string[] = [
  "CAP_AUDIT_WRITE",
  "CAP_CHOWN",
  "CAP_DAC_OVERRIDE",
  "CAP_FOWNER",
  "CAP_FSETID",
  "CAP_KILL",
  "CAP_MKNOD",
  "CAP_NET_BIND_SERVICE",
  "CAP_NET_RAW",
  "CAP_SETFCAP",
  "CAP_SETGID",
  "CAP_SETPCAP",
  "CAP_SETUID",
  "CAP_SYS_CHROOT",
];
