import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rewriteServerInfo } from '../../../../../src/server/public/server-info/rewrite-server-info.ts';

const ROOT = 'https://resources.example.org/cdn.example.net/r90';
const rewrite = (text: string, keepOverrides: readonly string[] = []): string => {
  const result = rewriteServerInfo(text, { root: ROOT, keepOverrides });
  if (!result.ok) throw new Error(result.error);
  return result.value;
};

describe('rewriteServerInfo', () => {
  it('changes every root of the usual document and no other byte', () => {
    const text = `{
  "ConnectionGroups": [{
    "Name": "Prod-Audit", "IsProductionAddressables": true, "ApiUrl": "https://game.example:5000/api/",
    "OverrideConnectionGroups": [
      {"Name": "1.0", "AddressablesCatalogUrlRoot": "https://patch.example/m28_1_0_1_mashiro3"},
      {"Name": "1.66", "AddressablesCatalogUrlRoot": "https://patch.example/r89_x"}
    ],
    "BundleVersion": "s8tloc7lo3", "Big": 12345678901234567890, "Exact": 1.50e+3, "Text": "音声\\u0041"
  }]
}\n`;
    expect(rewrite(text)).toBe(
      text
        .replace('https://patch.example/m28_1_0_1_mashiro3', ROOT)
        .replace('https://patch.example/r89_x', ROOT),
    );
  });

  it('keeps the named override groups', () => {
    const text =
      '{"ConnectionGroups":[{"AddressablesCatalogUrlRoot":"a","OverrideConnectionGroups":[{"AddressablesCatalogUrlRoot":"old","Name":"1.0"},{"Name":"1.66","AddressablesCatalogUrlRoot":"b"}]}]}';
    expect(JSON.parse(rewrite(text, ['1.0']))).toEqual({
      ConnectionGroups: [
        {
          AddressablesCatalogUrlRoot: ROOT,
          OverrideConnectionGroups: [
            { AddressablesCatalogUrlRoot: 'old', Name: '1.0' },
            { Name: '1.66', AddressablesCatalogUrlRoot: ROOT },
          ],
        },
      ],
    });
  });

  it('finds the member in any spelling, at any depth, and repeated', () => {
    const text =
      '\ufeff{"a":{"Addressables\\u0043atalogUrlRoot":"x"},"AddressablesCatalogUrlRoot":"y","AddressablesCatalogUrlRoot":"z"}';
    expect(rewrite(text)).toBe(
      `\ufeff{"a":{"Addressables\\u0043atalogUrlRoot":"${ROOT}"},"AddressablesCatalogUrlRoot":"${ROOT}","AddressablesCatalogUrlRoot":"${ROOT}"}`,
    );
  });

  it.each([
    '{"a":"https://leak.example/1"}',
    '["https://leak.example/1",["x"]]',
    '{"x":[{"AddressablesCatalogUrlRoot":"https://leak.example/1"}]}',
    '{ }',
    '[]',
    '7',
    'true',
  ])('replaces a value that is not text, which may contain the address of upstream: %s', (value) => {
    const text = `{"x": {"AddressablesCatalogUrlRoot": ${value} , "y":1},"AddressablesCatalogUrlRoot":"z"}`;
    expect(rewrite(text)).toBe(
      `{"x": {"AddressablesCatalogUrlRoot": "${ROOT}" , "y":1},"AddressablesCatalogUrlRoot":"${ROOT}"}`,
    );
  });

  it('keeps null, and text that only resembles the member', () => {
    const text =
      '{"AddressablesCatalogUrlRoot":null,"x":"AddressablesCatalogUrlRoot","y":["AddressablesCatalogUrlRoot"]}';
    expect(rewrite(text)).toBe(text);
  });

  it('reads a document of the largest size, whatever it holds', () => {
    const numbers = Array.from({ length: 2_000_000 }, () => '0').join(',');
    const text = `{"Numbers":[${numbers}],"AddressablesCatalogUrlRoot":"https://a.example/r1"}`;
    expect(rewrite(text) === text.replace('https://a.example/r1', ROOT)).toBe(true);
  });

  it.each(['', '{', '{"a":1,}', '// c\n{}', '{} {}', `${'['.repeat(70)}${']'.repeat(70)}`])(
    'refuses text that is not a JSON document: %j',
    (text) => {
      expect(rewriteServerInfo(text, { root: ROOT, keepOverrides: [] }).ok).toBe(false);
    },
  );

  it('changes only the roots of any document', () => {
    const replaceRoots = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(replaceRoots);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [
          key,
          key === 'AddressablesCatalogUrlRoot' && inner !== null ? ROOT : replaceRoots(inner),
        ]),
      );
    };
    const key = fc.oneof(fc.constant('AddressablesCatalogUrlRoot'), fc.constant('Name'), fc.string());
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.string(),
        fc.integer(),
        fc.constant(null),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.constantFrom(0, 2), (document, indent) => {
        // Converted through JSON first, because a member called __proto__ does not survive it.
        const plain: unknown = JSON.parse(JSON.stringify(document));
        expect(JSON.parse(rewrite(JSON.stringify(plain, null, indent)))).toEqual(replaceRoots(plain));
      }),
    );
  });
});
