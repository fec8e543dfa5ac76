import { createRandom, type Random } from '../../demo/game/seeded-random.ts';
import {
  FIRST_REGISTRY_TYPE,
  leaf,
  list,
  object,
  REGISTRY_TYPE,
  text,
  type UnityType,
  type UnityValue,
} from '../../demo/game/unity/unity-type.ts';
import type { UnityObject } from '../../demo/game/unity/write-serialized-file.ts';
import { sampleBehaviour } from './unity-samples.ts';

/** The classes that managed references of the corpus have. The file lists them as {@link REFERENCE_TYPES}. */
const CLASSES: readonly { readonly type: UnityType; readonly make: (random: Random) => UnityValue }[] = [
  { type: object('SmartFormatTag', 'Base', []), make: () => ({}) },
  {
    type: object('Comment', 'Base', [text('m_CommentText')]),
    make: (random) => ({ m_CommentText: someText(random) }),
  },
  {
    type: object('Choice', 'Base', [
      leaf('bool', 'isHidden', true),
      list('labels', text('data')),
      object('managedReference', 'next', [leaf('SInt64', 'rid')]),
      object('Cost', 'cost', [leaf('UInt8', 'kind', true), text('unit'), leaf('double', 'amount')]),
      // Unity describes the registry here too, and stores it only in the object.
      REGISTRY_TYPE,
    ]),
    make: (random) => ({
      isHidden: random.below(2) === 0,
      labels: Array.from({ length: random.below(4) }, () => someText(random)),
      next: { rid: -2n },
      cost: { kind: random.below(256), unit: someText(random), amount: random.below(1000) / 8 },
    }),
  },
];

/** The types of {@link referenceCorpus} that only managed references have. */
export const REFERENCE_TYPES: readonly UnityType[] = CLASSES.map(({ type }) => type);

function someText(random: Random): string {
  return random.pick([
    '',
    'a',
    '先生、おはようございます。',
    'line 1\nline 2',
    '{0} items',
    '😀',
    'x'.repeat(300),
  ]);
}

/** A managed reference; one to nothing has no class. */
export function managedReference(
  rid: bigint,
  className: string,
  data: UnityValue,
  assembly = 'Demo',
): UnityValue {
  const name = {
    class: className,
    ns: className === '' ? '' : 'Demo',
    asm: className === '' ? '' : assembly,
  };
  return { rid, type: name, data };
}

/** The entry that ends a registry of version 1. */
export const TERMINUS: UnityValue = {
  type: { class: 'Terminus', ns: 'UnityEngine.DMAT', asm: 'FAKE_ASM' },
  data: {},
};

const FIELDS: readonly UnityType[] = [
  text('title'),
  object('managedReference', 'first', [leaf('SInt64', 'rid')]),
  list('items', object('managedRefArrayItem', 'data', [leaf('SInt64', 'rid')])),
  list(
    'rows',
    object('Row', 'data', [
      leaf('SInt64', 'm_Id'),
      text('m_Localized'),
      list('m_Items', object('managedReference', 'data', [leaf('SInt64', 'rid')])),
    ]),
  ),
];

/** Random objects that end with a registry of managed references. The same seed gives the same objects. */
export function referenceCorpus(version: 1 | 2, count: number, seed: number): UnityObject[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, (_, index) => {
    const references = Array.from({ length: random.below(6) }, (_each, number) => {
      const { type, make } = random.pick(CLASSES);
      return managedReference(
        5_208_983_112_832_221_195n + BigInt(number * 17 + index),
        type.type,
        make(random),
      );
    });
    const ids = references.map((each) => (each as { readonly rid: bigint }).rid);
    const items = ids.map((rid) => ({ rid }));
    const registry: UnityValue =
      version === 2
        ? { version, RefIds: [...references, managedReference(-2n, '', {})] }
        : { version, '00000000': [...references, TERMINUS] };
    return sampleBehaviour(
      BigInt(index + 1),
      `Object${index}`,
      [...FIELDS, version === 2 ? REGISTRY_TYPE : FIRST_REGISTRY_TYPE],
      {
        title: someText(random),
        first: { rid: ids[0] ?? -2n },
        items,
        rows: Array.from({ length: random.below(5) }, (_each, row) => ({
          m_Id: BigInt(row),
          m_Localized: someText(random),
          m_Items: items.slice(0, row),
        })),
        references: registry,
      },
    );
  });
}
