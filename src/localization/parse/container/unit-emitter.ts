import { blake3OfText } from '../../../platform/hashing/text-blake3.ts';
import { createDigestSet } from '../../../platform/hashing/digest-set.ts';
import { FormatError } from '../../../formats/format-error.ts';
import {
  joinKeyPath,
  UNIT_ID_BYTES,
  type ParsedUnit,
  type PartLocation,
  repeatedKey,
} from './parsed-container.ts';

const BATCH_UNITS = 500;
/** UTF-16 code units of one message. The thread that owns the index receives it, so a container must not make it large. */
const BATCH_CHARACTERS = 256 * 1024;
const MAX_UNITS = 4_000_000;
/** Most UTF-16 code units of the texts and paths of one container. Long paths can take far more than the container. */
const MAX_CHARACTERS = 1024 ** 3;

type FoundText = Omit<ParsedUnit, 'unitId' | 'sourceDigest' | keyof PartLocation>;

/**
 * The identity of a unit, the same in every release as long as the names on the path to it stay.
 *
 * @param destinationKey the stable name of the container
 * @returns 16 bytes
 */
export function unitIdOf(destinationKey: string, keyPath: string): Uint8Array {
  return blake3OfText(`${destinationKey}\0${keyPath}`).subarray(0, UNIT_ID_BYTES);
}

export interface UnitEmitter {
  /**
   * Hands over a unit. One whose id another unit of the container has is reported and identified by its exact place.
   *
   * @throws FormatError `container_limit_exceeded`
   */
  emit(location: PartLocation, text: FoundText): Promise<void>;
  flush(): Promise<void>;
}

export function createUnitEmitter({
  destinationKey,
  send,
  report,
  maxUnits = MAX_UNITS,
  maxCharacters = MAX_CHARACTERS,
}: {
  readonly destinationKey: string;
  readonly send: (units: readonly ParsedUnit[]) => Promise<void>;
  readonly report: (location: PartLocation, error: FormatError, fieldPath: string) => void;
  readonly maxUnits?: number;
  readonly maxCharacters?: number;
}): UnitEmitter {
  const seen = createDigestSet();
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

  /**
   * Names are unique where they are made: siblings by their names, texts of one object by {@link uniqueTexts}. This finds
   * what these rules missed; the earlier unit was handed over and keeps its id.
   */
  const identify = (
    location: PartLocation,
    text: FoundText,
  ): { readonly keyPath: string; readonly unitId: Uint8Array } => {
    const unitId = unitIdOf(destinationKey, text.keyPath);
    if (seen.add(unitId)) return { keyPath: text.keyPath, unitId };
    report(location, repeatedKey(), text.fieldPath);
    const { archiveEntry, pathId } = location;
    const keyPath = joinKeyPath([archiveEntry ?? '', pathId ?? '', text.fieldPath, emitted]);
    return { keyPath, unitId: unitIdOf(destinationKey, keyPath) };
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
        ...identify(location, text),
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
