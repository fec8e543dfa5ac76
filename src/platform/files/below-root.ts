import { realpathSync, statSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { isRelativePath } from '../../contract/actions/control-rules.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { errorCode } from './error-code.ts';
import { mkdir } from './file-changes.ts';
import { fsyncDirectory, makeDirectoriesDurably } from './files.ts';

/**
 * Finds a file that a caller names, below a configured root.
 *
 * @returns the real path; `null` when there is no such file
 * @throws ServiceError `invalid_path` for a path that leaves the root, also through a link, or is not a file
 */
export async function findBelowRoot(root: string, path: string): Promise<string | null> {
  requireRelative(path);
  const realRoot = await unlessMissing(() => realpath(root));
  const found = realRoot === null ? null : await unlessMissing(() => realpath(join(realRoot, path)));
  if (realRoot === null || found === null) return null;
  requireInside(realRoot, found, path);
  if (!(await stat(found)).isFile()) throw invalidPath(path, 'it is not a file');
  return found;
}

/** {@link findBelowRoot} for threads that must answer without a pause. */
export function findBelowRootSync(root: string, path: string): string | null {
  requireRelative(path);
  try {
    const realRoot = realpathSync(root);
    const found = realpathSync(join(realRoot, path));
    requireInside(realRoot, found, path);
    if (!statSync(found).isFile()) throw invalidPath(path, 'it is not a file');
    return found;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/**
 * Finds the place of a file to write, below a configured root. The root and the folders of the path are created. A file at the
 * place is not examined: write to another name in the same folder and rename, which replaces a link instead of following it.
 *
 * @returns the path, its folder with links resolved
 * @throws ServiceError `invalid_path` for a path that leaves the root, also through a link, or names a folder
 */
export async function placeBelowRoot(root: string, path: string): Promise<string> {
  requireRelative(path);
  await makeDirectoriesDurably(root);
  const realRoot = await realpath(root);
  let folder = realRoot;
  for (const name of path.split('/').slice(0, -1)) folder = await folderIn(folder, name, realRoot, path);
  const place = join(folder, path.slice(path.lastIndexOf('/') + 1));
  const found = await unlessMissing(() => stat(place));
  if (found?.isDirectory() === true) throw invalidPath(path, 'it is a folder');
  return place;
}

async function folderIn(parent: string, name: string, realRoot: string, path: string): Promise<string> {
  const folder = join(parent, name);
  try {
    await mkdir(folder);
    await fsyncDirectory(parent);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  const found = await unlessMissing(() => realpath(folder));
  if (found === null || !(await stat(found)).isDirectory()) {
    throw invalidPath(path, `"${name}" is not a folder`);
  }
  requireInside(realRoot, found, path);
  return found;
}

function requireRelative(path: string): void {
  if (isRelativePath(path)) return;
  throw invalidPath(path, 'it must be relative to the root, without "..", "\\" or control characters');
}

function requireInside(realRoot: string, found: string, path: string): void {
  if (found.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep)) return;
  throw invalidPath(path, 'it leads out of the configured root');
}

async function unlessMissing<T>(find: () => Promise<T>): Promise<T | null> {
  try {
    return await find();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

function invalidPath(path: string, why: string): ServiceError {
  return new ServiceError('invalid_path', `the path "${path}" cannot be used: ${why}`);
}
