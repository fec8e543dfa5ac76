import { createRandom } from '../../demo/game/seeded-random.ts';
import { TextCollector } from '../../src/formats/collect/text-collector.ts';
import type { PathSyntax } from '../../src/formats/collect/path-syntax.ts';
import { PatchError } from '../../src/formats/patch/patch-error.ts';
import type { FieldEdit } from '../../src/formats/patch/find-places.ts';
import type { ValueVisitor } from '../../src/formats/value-visitor.ts';

/** Texts that writers get wrong: longer, shorter, empty, beyond the BMP, right to left, quotes, line ends, marks. */
const TARGETS = [
  '',
  'a',
  'Hello',
  '先生、おはようございます。'.repeat(40),
  '😀👩‍👩‍👧‍👦𠮟る',
  'مرحبا \u202Eبالعالم\u202C',
  '"quoted" and \'single\'',
  '""',
  'a,b\tc;d',
  'line 1\nline 2',
  'line 1\r\nline 2\r',
  'back\\slash \\n / </script> & <color=#ff8800>',
  '\uFEFFmark',
  '\u2028\u2029\u0085',
  ' spaces ',
  '=1+1',
  '\u007F\u0001\u001F',
  '~/#"][.',
];

/** The texts of a file by their paths, as its reader reports them. */
export function textsByPath(
  syntax: PathSyntax,
  read: (visitor: ValueVisitor) => void,
): ReadonlyMap<string, string> {
  const collector = new TextCollector({
    syntax,
    rowKeys: [],
    speakerFields: new Set(),
    sceneFields: new Set(),
    isCandidate: () => true,
    mayNest: () => false,
  });
  read(collector);
  const { texts } = collector.finish();
  return new Map(texts.map(({ fieldPath, value }) => [fieldPath, String(value)]));
}

/**
 * Random edits of some of the texts of a file. The same seed gives the same edits.
 *
 * @param accepts chooses the targets that the format can hold
 */
export function randomEdits(
  texts: ReadonlyMap<string, string>,
  seed: number,
  accepts: (target: string) => boolean = () => true,
): FieldEdit[] {
  const random = createRandom(seed);
  const targets = TARGETS.filter(accepts);
  const share = random.pick([1, 2, 8]);
  return [...texts].flatMap(([fieldPath, source]) =>
    random.below(share) === 0 ? [{ fieldPath, source, target: random.pick(targets) }] : [],
  );
}

/** The texts that a file must have after edits. */
export function editedTexts(
  texts: ReadonlyMap<string, string>,
  edits: readonly FieldEdit[],
): ReadonlyMap<string, string> {
  return new Map([...texts, ...edits.map(({ fieldPath, target }) => [fieldPath, target] as const)]);
}

/** The code and the path of the error that a writer throws. Another error than a patch error is thrown again. */
export function patchErrorOf(patch: () => unknown): { code: string; fieldPath: string } | null {
  try {
    patch();
    return null;
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return { code: error.code, fieldPath: error.fieldPath };
  }
}
