import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from './error-code.ts';
import { fsyncDirectorySync } from './files.ts';
import { chmodSync, closeSync, mkdirSync, openSync } from './file-changes.ts';

const FOLDER_OF_OWNER = 0o700;
const FILE_OF_OWNER = 0o600;

/**
 * Creates a folder that only its owner can open, and takes the rights of all others from an existing one. The folder of
 * another owner, such as the root of a mounted volume, keeps its rights.
 */
export function makePrivateFolder(path: string): void {
  makeFolders(path);
  setMode(path, FOLDER_OF_OWNER);
}

/**
 * Creates an empty file that only its owner can read and write; an existing one keeps its bytes and loses the rights of
 * all others.
 */
export function makePrivateFile(path: string): void {
  closeSync(openSync(path, 'a', FILE_OF_OWNER));
  setMode(path, FILE_OF_OWNER);
}

/** Not the recursive option: on a read-only volume that reports ENOENT instead of EROFS. */
function makeFolders(path: string): void {
  const parent = dirname(path);
  try {
    mkdirSync(path, FOLDER_OF_OWNER);
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && statSync(path).isDirectory()) return;
    if (errorCode(error) !== 'ENOENT' || parent === path) throw error;
    makeFolders(parent);
    mkdirSync(path, FOLDER_OF_OWNER);
  }
  // Without its name, the folder would be lost with all that is in it.
  fsyncDirectorySync(parent);
}

function setMode(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch (error) {
    if (errorCode(error) !== 'EPERM') throw error;
  }
}
