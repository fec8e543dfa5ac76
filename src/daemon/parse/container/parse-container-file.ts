import { NOT_A_FILE, openFile, type OpenFile } from '../../formats/byte-source.ts';
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
  let opened: OpenFile | null;
  try {
    opened = openFile(path);
  } catch (error) {
    return failedContainer('file_unreadable', messageOf(error));
  }
  if (opened === null) return failedContainer('file_unreadable', `it is ${NOT_A_FILE}`);
  using file = opened;
  return await parseContainer({ ...container, source: file.source }, rules, sendUnits);
}
