import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { fileSource } from '../../formats/byte-source.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { CompiledRules } from '../rules/compile-rules.ts';
import { parseContainer } from './parse-container.ts';
import { failedContainer, type ContainerOutcome, type ParsedUnit } from './parsed-container.ts';

/** A container that is a file on disk. */
export interface ContainerFile {
  readonly path: string;
  readonly destination: string;
  /** The stable name of the destination. */
  readonly destinationKey: string;
  /** A folder for temporary files; made when it is needed. */
  readonly scratchDirectory: string;
}

/** A container for a process that has its own folder for temporary files. */
export type ContainerJob = Omit<ContainerFile, 'scratchDirectory'>;

/**
 * Parses a file. A file that cannot be read is an outcome, not an error.
 *
 * @param sendUnits takes the units in bounded batches
 */
export async function parseContainerFile(
  { path, ...container }: ContainerFile,
  rules: CompiledRules,
  sendUnits: (units: readonly ParsedUnit[]) => Promise<void>,
): Promise<ContainerOutcome> {
  let descriptor: number;
  try {
    // Never through a link or into a device: the object may have been replaced.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return failedContainer('file_unreadable', messageOf(error));
  }
  try {
    if (!fstatSync(descriptor).isFile()) {
      return failedContainer('file_unreadable', 'it is a folder, a named pipe or a device, and not a file');
    }
    return await parseContainer({ ...container, source: fileSource(descriptor) }, rules, sendUnits);
  } finally {
    closeSync(descriptor);
  }
}
