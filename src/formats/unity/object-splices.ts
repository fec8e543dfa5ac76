import { isUtf8 } from 'node:buffer';
import { DOTTED_SYNTAX } from '../collect/path-syntax.ts';
import { type EditPlace, findPlaces } from '../patch/find-places.ts';
import { checkLength } from '../patch/patch-error.ts';
import type { Splice } from '../patch/spliced-source.ts';
import type { ValueEdit } from '../patch/value-edit.ts';
import { forwardingVisitor, type ReadLimits, type ValueVisitor } from '../value-visitor.ts';
import type { SerializedFile, SerializedObject } from './serialized-file.ts';
import { textSplices } from './text-splice.ts';
import { objectLimits, readObjectBytes, textBytes, visitObject } from './visit-object.ts';

/**
 * The splices that make edits in an object. A text that is not valid UTF-8 is bytes for nested edits, as it is for the
 * parser.
 *
 * @returns splices with positions in the serialized file, in their order
 * @throws PatchError as {@link findPlaces}, and `text_too_long`
 * @throws FormatError as {@link visitObject}
 */
export function objectSplices(
  file: SerializedFile,
  object: SerializedObject,
  edits: readonly ValueEdit[],
  limits: ReadLimits,
): Splice[] {
  const { bytes, places } = objectPlaces(file, object, edits, limits);
  const { stringBytes } = objectLimits(object, limits);
  for (const { edit, target } of places) checkLength(edit.fieldPath, target, stringBytes);
  return textSplices(bytes, places, file.header.littleEndian).map((splice) => ({
    ...splice,
    offset: object.offset + splice.offset,
  }));
}

/** Finds the places of edits in an object, and its bytes. @throws PatchError, FormatError as {@link objectSplices} */
export function objectPlaces(
  file: SerializedFile,
  object: SerializedObject,
  edits: readonly ValueEdit[],
  limits: ReadLimits,
): { readonly bytes: Buffer; readonly places: readonly EditPlace[] } {
  const bytes = readObjectBytes(file, object);
  const places = findPlaces(edits, DOTTED_SYNTAX, (visitor) => {
    visitObject(file, object, withRawBytes(visitor, file, bytes), objectLimits(object, limits));
  });
  return { bytes, places };
}

/** Reports texts that are not valid UTF-8 as bytes. */
function withRawBytes(visitor: ValueVisitor, file: SerializedFile, object: Buffer): ValueVisitor {
  return forwardingVisitor(visitor, {
    text: (value, start, end) => {
      // Only where invalid bytes became this character, or where it stands in the text itself.
      const raw = value.includes('\uFFFD') ? textBytes(file, object, start) : null;
      if (raw === null || isUtf8(raw)) visitor.text(value, start, end);
      else visitor.bytes(raw, start, end);
    },
  });
}
