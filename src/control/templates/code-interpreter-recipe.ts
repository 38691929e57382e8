import { BASE_PACKAGES } from "./base-recipe.js";

/** Packages of `code-interpreter-v1` beside Debian's essential ones. */
export const CODE_INTERPRETER_PACKAGES: readonly string[] = [
  ...BASE_PACKAGES,
  // Letters of Chinese, Japanese and Korean in charts; matplotlib brings those of the others.
  "fonts-wqy-microhei",
  "python3-ipykernel",
  "python3-jupyter-client",
  "python3-matplotlib",
  "python3-numpy",
  "python3-openpyxl",
  "python3-pandas",
  "python3-pil",
  "python3-requests",
];

/**
 * Shell script that finishes the root file system in `$1` further: `pip install` works without a virtual environment, because the sandbox is
 * one, and the first chart need not wait until matplotlib has read all fonts.
 */
export const CODE_INTERPRETER_FINISH_SCRIPT = `set -e
printf '[global]\\nbreak-system-packages = true\\n' > "$1/etc/pip.conf"
chroot "$1" setpriv --reuid=user --regid=user --clear-groups env HOME=/home/user PYTHONDONTWRITEBYTECODE=1 python3 -c 'import matplotlib.font_manager'
`;
