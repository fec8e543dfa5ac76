import { collect } from '../../../../support/collect.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonMemberError } from '../../../../../src/daemon/upstream/catalog-readers/json-byte-source.ts';
import {
  readJsonMembers,
  type JsonMember,
} from '../../../../../src/daemon/upstream/catalog-readers/json-members.ts';

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function read(text: string | Buffer, size = 7, maxValueBytes = 1000): Promise<JsonMember[]> {
  const rules = { containers: new Set(['list', 'map']), maxValueBytes };
  const batches = await collect(readJsonMembers(pieces(Buffer.from(text as string), size), rules));
  return batches.flat();
}

describe('readJsonMembers', () => {
  test('returns members and elements in document order', async () => {
    const text =
      '\ufeff {"a": 1, "list": [ {"x":"]}\\""} , 2,"t" ], "map" : {"k":[1,{}],"l":null}, "b":true } \n';
    expect(await read(text, 1)).toEqual([
      { kind: 'value', key: 'a', value: 1 },
      { kind: 'element', container: 'list', name: null, value: { x: ']}"' } },
      { kind: 'element', container: 'list', name: null, value: 2 },
      { kind: 'element', container: 'list', name: null, value: 't' },
      { kind: 'element', container: 'map', name: 'k', value: [1, {}] },
      { kind: 'element', container: 'map', name: 'l', value: null },
      { kind: 'value', key: 'b', value: true },
    ]);
  });

  test('reads empty containers and an empty document', async () => {
    expect(await read('{"list":[],"map":{}}')).toEqual([]);
    expect(await read('{}')).toEqual([]);
  });

  test('agrees with JSON.parse for any document and any chunking', async () => {
    const property = fc.asyncProperty(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })),
      fc.array(fc.jsonValue({ maxDepth: 4 })),
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(0, 1, 3),
      async (others, list, size, indent) => {
        const document = JSON.parse(JSON.stringify({ ...others, list })) as Record<string, unknown>;
        delete document['map'];
        // A map, because a member may be called "__proto__".
        const elements: unknown[] = [];
        const rebuilt = new Map<string, unknown>([['list', elements]]);
        for (const member of await read(JSON.stringify(document, null, indent), size, 100_000)) {
          if (member.kind === 'value') rebuilt.set(member.key, member.value);
          else elements.push(member.value);
        }
        expect(rebuilt).toEqual(new Map(Object.entries(document)));
      },
    );
    await fc.assert(property, { numRuns: 300 });
  });

  test.each([
    ['[]', 'must be a JSON object'],
    ['', 'ends too early'],
    ['{"a":1', 'ends too early'],
    ['{"list":[1', 'ends too early'],
    ['{"list":[1,', 'ends too early'],
    ['{"list":7}', 'must be an array or an object'],
    ['{"a":1,"a":2}', 'appears twice'],
    ['{"a":1}x', 'text after the document'],
    ['{"a":1,}', 'member name'],
    ['{"list":[1,]}', 'not valid JSON'],
    ['{"list":[1 2]}', '"," or the end'],
    ['{"list":[{]}}', '"," or the end'],
    ['{"a" 1}', '":" was expected'],
    ['{a:1}', 'member name'],
    [`{"a":${'['.repeat(80)}}`, 'nested deeper'],
    [`{"a":"${'x'.repeat(2000)}"}`, 'longer than'],
  ])('refuses %j', async (text, message) => {
    await expect(read(text)).rejects.toThrow(JsonMemberError);
    await expect(read(text)).rejects.toThrow(message);
  });

  test('distinguishes a truncated document from an invalid one', async () => {
    await expect(read('{"list":[1,')).rejects.toMatchObject({ truncated: true });
    await expect(read('{"list":[1,]}')).rejects.toMatchObject({ truncated: false });
  });

  test('refuses bytes that are not UTF-8', async () => {
    const bytes = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]);
    await expect(read(bytes)).rejects.toThrow('not valid UTF-8');
  });

  test('reads no further than its consumer, and closes its source', async () => {
    let taken = 0;
    let closed = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from('{"list":[0');
        for (;;) {
          taken += 1;
          yield Buffer.from(',1');
        }
      } finally {
        closed = true;
      }
    }
    const members = readJsonMembers(endless(), { containers: new Set(['list']), maxValueBytes: 100 });
    for (let i = 0; i < 5; i += 1) await members.next();
    await members.return();
    expect(taken).toBeLessThan(10);
    expect(closed).toBe(true);
  });
});
