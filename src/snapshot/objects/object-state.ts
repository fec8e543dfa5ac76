import { lstatSync, type Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { hasBlockList } from '../../domain/release/blocks.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { blockListPath, objectPath } from '../volume/layout.ts';
import { blockListBytes } from './block-list.ts';

export type FileState = 'ok' | 'missing' | 'wrong';

/** Whether the store has an object of this digest and size, going by its metadata; with its block list if large. */
export async function objectState(root: string, blake3: Blake3Hex, size: number): Promise<FileState> {
  const state = await fileState(objectPath(root, blake3), size);
  if (state !== 'ok' || !hasBlockList(size)) return state;
  return (await fileState(blockListPath(root, blake3), blockListBytes(size))) === 'ok' ? 'ok' : 'wrong';
}

/** Whether a path is a regular file of this size. Any error but "not there" is thrown, with its code. */
export async function fileState(path: string, size: number): Promise<FileState> {
  try {
    return stateOf(await lstat(path), size);
  } catch (error) {
    if (isAbsent(error)) return 'missing';
    throw error;
  }
}

/** As {@link objectState}, for a worker thread. Any error makes an object unusable. */
export function objectStateSync(root: string, blake3: Blake3Hex, size: number): FileState {
  const state = fileStateSync(objectPath(root, blake3), size);
  if (state !== 'ok' || !hasBlockList(size)) return state;
  return fileStateSync(blockListPath(root, blake3), blockListBytes(size));
}

function fileStateSync(path: string, size: number): FileState {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats === undefined ? 'missing' : stateOf(stats, size);
  } catch (error) {
    // An error of the device or of permissions makes the object as unusable as one that is not there.
    return isAbsent(error) ? 'missing' : 'wrong';
  }
}

function stateOf(stats: Stats, size: number): FileState {
  return stats.isFile() && stats.size === size ? 'ok' : 'wrong';
}

function isAbsent(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}
