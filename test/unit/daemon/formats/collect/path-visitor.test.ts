import { describe, expect, it } from 'vitest';
import { createRandom, type Random } from '../../../../../src/cli/dev/seeded-random.ts';
import { DOTTED_SYNTAX, POINTER_SYNTAX } from '../../../../../src/daemon/formats/collect/path-syntax.ts';
import { PathVisitor } from '../../../../../src/daemon/formats/collect/path-visitor.ts';
import { TextCollector } from '../../../../../src/daemon/formats/collect/text-collector.ts';
import type { ValueVisitor } from '../../../../../src/daemon/formats/value-visitor.ts';

/** Reports a random value to several visitors. */
function visitValue(random: Random, visitors: readonly ValueVisitor[], depth: number): void {
  const kind = random.below(depth === 0 ? 4 : 6);
  const each = (call: (visitor: ValueVisitor) => void): void => visitors.forEach(call);
  if (kind <= 1) each((visitor) => visitor.text('t', 0, 1));
  else if (kind === 2) each((visitor) => visitor.integer(5));
  else if (kind === 3) each((visitor) => visitor.other());
  else if (kind === 4) {
    each((visitor) => visitor.beginObject());
    for (let count = random.below(4); count > 0; count -= 1) {
      const name = random.pick(['a', 'b.c', '', 'd#', 'e/~', 'm_Text']);
      each((visitor) => visitor.field(name));
      visitValue(random, visitors, depth - 1);
    }
    each((visitor) => visitor.endObject());
  } else {
    each((visitor) => visitor.beginArray());
    for (let count = random.below(4); count > 0; count -= 1) {
      const name = random.below(3) === 0 ? random.pick(['"row 1"', '7']) : null;
      if (name !== null) each((visitor) => visitor.element(name));
      visitValue(random, visitors, depth - 1);
    }
    each((visitor) => visitor.endArray());
  }
}

describe('PathVisitor', () => {
  it('makes the paths that the collector of the parser makes', () => {
    const random = createRandom(16);
    let compared = 0;
    for (let round = 0; round < 2000; round += 1) {
      const syntax = random.pick([DOTTED_SYNTAX, POINTER_SYNTAX]);
      const collector = new TextCollector({
        syntax,
        rowKeys: [],
        speakerFields: new Set(),
        sceneFields: new Set(),
        isCandidate: () => true,
        mayNest: () => false,
      });
      const paths: string[] = [];
      const visitor = new PathVisitor(syntax, (_value, _start, _end, path) => void paths.push(path()));
      visitValue(random, [collector, visitor], 5);
      expect(paths).toEqual(collector.finish().texts.map(({ fieldPath }) => fieldPath));
      compared += paths.length;
    }
    expect(compared).toBeGreaterThan(1000);
  });
});
