import { realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { isRelativePath } from '../../contract/actions/control-rules.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { errorCode } from '../../platform/files/error-code.ts';

/**
 * Finds a file that a caller names, below a configured root.
 *
 * @param path relative to the root
 * @returns the real path; `null` when there is no such file
 * @throws ServiceError `invalid_path` for a path that leaves the root, also through a link, or is not a file
 */
export async function findBelowRoot(root: string, path: string): Promise<string | null> {
  if (!isRelativePath(path)) {
    throw invalidPath(path, 'it must be relative to the root, without "..", "\\" or control characters');
  }
  const realRoot = await realPathOf(root);
  const found = realRoot === null ? null : await realPathOf(join(realRoot, path));
  if (realRoot === null || found === null) return null;
  if (!found.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep)) {
    throw invalidPath(path, 'it leads out of the configured root');
  }
  if (!(await stat(found)).isFile()) throw invalidPath(path, 'it is not a file');
  return found;
}

async function realPathOf(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}

function invalidPath(path: string, why: string): ServiceError {
  return new ServiceError('invalid_path', `the path "${path}" cannot be used: ${why}`);
}
