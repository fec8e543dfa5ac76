import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';

/**
 * The files of a program as they were when it was killed. The program runs on in this process until it is stopped, so
 * what it changes after the kill is undone.
 */
export class CrashCopy {
  readonly #folders: readonly string[];
  readonly #copy: string;
  #isTaken = false;

  constructor(folders: readonly string[], copy: string) {
    this.#folders = folders;
    this.#copy = copy;
  }

  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Copies the folders, without a turn of the event loop. */
  take(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    for (const [position, folder] of this.#folders.entries())
      cpSync(folder, this.#copyOf(position), { recursive: true, preserveTimestamps: true });
  }

  /** Gives the folders the content of the copy, if there is one. Files that did not change since keep their identity. */
  restore(): void {
    if (!this.#isTaken) return;
    for (const [position, folder] of this.#folders.entries()) restoreFolder(this.#copyOf(position), folder);
    rmSync(this.#copy, { recursive: true });
    this.#isTaken = false;
  }

  #copyOf(position: number): string {
    return join(this.#copy, String(position));
  }
}

function restoreFolder(copy: string, folder: string): void {
  const wanted = new Set(readdirSync(copy));
  for (const name of readdirSync(folder)) {
    if (!wanted.has(name)) rmSync(join(folder, name), { recursive: true });
  }
  for (const name of wanted) {
    const [from, to] = [join(copy, name), join(folder, name)];
    if (statSync(from).isDirectory() && existsSync(to) && statSync(to).isDirectory()) restoreFolder(from, to);
    else if (!isSame(from, to)) {
      rmSync(to, { recursive: true, force: true });
      cpSync(from, to, { recursive: true, preserveTimestamps: true });
    }
  }
}

function isSame(from: string, to: string): boolean {
  if (!existsSync(to)) return false;
  const [left, right]: readonly Stats[] = [statSync(from), statSync(to)];
  if (left === undefined || right === undefined || !left.isFile() || !right.isFile()) return false;
  return left.size === right.size && readFileSync(from).equals(readFileSync(to));
}
