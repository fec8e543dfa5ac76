import { blake3OfText } from '../../../platform/hashing/text-blake3.ts';
import { FormatError } from '../../formats/format-error.ts';
import type { ParsedUnit, PartLocation } from './parsed-container.ts';

/** Units of one message. */
const BATCH_UNITS = 500;
/** UTF-16 code units of one message. The thread that owns the index receives it, so a container must not make it large. */
const BATCH_CHARACTERS = 256 * 1024;
/** Most units of one container. */
const MAX_UNITS = 4_000_000;
/** Most UTF-16 code units of the texts and paths of one container. Long paths can take far more than the container. */
const MAX_CHARACTERS = 1024 ** 3;
const UNIT_ID_BYTES = 16;

/** A unit before it has its digests. */
export type FoundText = Omit<ParsedUnit, 'unitId' | 'sourceDigest' | keyof PartLocation>;

/**
 * The identity of a unit, the same in every release as long as the names on the way to it stay.
 *
 * @param destinationKey the stable name of the container
 * @returns 16 bytes
 */
export function unitIdOf(destinationKey: string, keyPath: string): Uint8Array {
  return blake3OfText(`${destinationKey}\0${keyPath}`).subarray(0, UNIT_ID_BYTES);
}

/** Hands over the units of a container in bounded batches. */
export interface UnitEmitter {
  /**
   * @throws FormatError `container_limit_exceeded`
   */
  emit(location: PartLocation, text: FoundText): Promise<void>;
  flush(): Promise<void>;
}

/**
 * Creates the emitter of one container.
 *
 * @param destinationKey the stable name of the container, part of the identity of its units
 * @param send takes a batch; the emitter waits for it
 * @param maxUnits most units of the container
 * @param maxCharacters most UTF-16 code units of their texts and paths
 */
export function createUnitEmitter(
  destinationKey: string,
  send: (units: readonly ParsedUnit[]) => Promise<void>,
  maxUnits = MAX_UNITS,
  maxCharacters = MAX_CHARACTERS,
): UnitEmitter {
  let batch: ParsedUnit[] = [];
  let characters = 0;
  let emitted = 0;
  let emittedCharacters = 0;

  const flush = async (): Promise<void> => {
    if (batch.length === 0) return;
    const full = batch;
    batch = [];
    characters = 0;
    await send(full);
  };

  return {
    emit: async (location, text) => {
      emitted += 1;
      if (emitted > maxUnits) {
        throw new FormatError(
          'container_limit_exceeded',
          `the container has more than ${maxUnits} text units`,
        );
      }
      const length = charactersOf(location, text);
      emittedCharacters += length;
      if (emittedCharacters > maxCharacters) {
        throw new FormatError(
          'container_limit_exceeded',
          `the texts of the container and their paths have more than ${maxCharacters} characters`,
        );
      }
      batch.push({
        ...location,
        ...text,
        unitId: unitIdOf(destinationKey, text.keyPath),
        sourceDigest: blake3OfText(text.sourceText),
      });
      characters += length;
      if (batch.length >= BATCH_UNITS || characters >= BATCH_CHARACTERS) await flush();
    },
    flush,
  };
}

function charactersOf({ archiveEntry }: PartLocation, text: FoundText): number {
  const { fieldPath, keyPath, sourceText, speaker, scene } = text;
  const strings = [archiveEntry, fieldPath, keyPath, sourceText, speaker, scene];
  return strings.reduce((sum, string) => sum + (string?.length ?? 0), 0);
}
