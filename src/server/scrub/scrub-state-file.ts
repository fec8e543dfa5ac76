import { noFailpoints } from '../../platform/files/failpoints.ts';
import { readBoundedFile, writeFileDurably } from '../../platform/files/files.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { parseScrubState, type ScrubState } from './scrub-state.ts';
import { errorCode } from '../../platform/files/error-code.ts';

const MAX_BYTES = 4096;

/** Stores the position of the scrub. Neither call ever fails: a lost position costs only a part of one pass. */
export interface ScrubStateStore {
  /** The last saved state; `null` if there is no usable one. */
  load(): Promise<ScrubState | null>;
  save(state: ScrubState): Promise<void>;
}

/** A store that forgets everything at the end of the process. */
export const NO_STATE_STORE: ScrubStateStore = {
  load: async () => await Promise.resolve(null),
  save: async () => {
    await Promise.resolve();
  },
};

/** Makes a store in one file. */
export function createScrubStateFile(path: string, logger: Logger): ScrubStateStore {
  let isWritable = true;
  return {
    load: async () => {
      let text: string;
      try {
        text = (await readBoundedFile(path, MAX_BYTES)).toString('utf8');
      } catch (error) {
        if (errorCode(error) !== 'ENOENT')
          logger.warn({ err: error }, 'the position of the scrub cannot be read');
        return null;
      }
      const state = parseScrubState(text);
      if (state === null) logger.warn({ path }, 'the file with the position of the scrub is not valid');
      return state;
    },
    save: async (state) => {
      try {
        await writeFileDurably(path, `${JSON.stringify(state)}\n`, noFailpoints, 0o600);
        isWritable = true;
      } catch (error) {
        if (isWritable) logger.warn({ err: error }, 'the position of the scrub cannot be saved');
        isWritable = false;
      }
    },
  };
}
