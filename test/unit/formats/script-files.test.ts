import { describe, expect, it } from 'vitest';
import { DOTTED_SYNTAX } from '../../../src/formats/collect/path-syntax.ts';
import {
  compileScript,
  ScriptPatternError,
  type CompiledScript,
  type ScriptSource,
} from '../../../src/formats/script/compile-script.ts';
import { patchScript } from '../../../src/formats/script/patch-script.ts';
import { readScript } from '../../../src/formats/script/read-script.ts';
import { scriptPreset, type ScriptPreset } from '../../../src/formats/script/script-presets.ts';
import { decodedString, decodeText } from '../../../src/formats/text/decode-text.ts';
import { READ_LIMITS } from '../../../src/formats/value-visitor.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { editedTexts, patchErrorOf, randomEdits, textsByPath } from '../../support/random-edits.ts';
import { SCRIPT_SAMPLES } from '../../support/script-samples.ts';
import { createValueRecorder, formatErrorOf } from '../../support/value-recorder.ts';

const textsOf = (value: string | Uint8Array, script: CompiledScript): ReadonlyMap<string, string> =>
  textsByPath(DOTTED_SYNTAX, (visitor) => {
    const decoded = typeof value === 'string' ? decodedString(value) : decodeText(value);
    readScript(decoded, script, { visitor, limits: READ_LIMITS, reportPartError: () => undefined });
  });

/** The texts of a script by `line.field`, with the labels of their lines in front. */
function read(value: string, script: CompiledScript | ScriptPreset): string[] {
  const recorder = createValueRecorder();
  readScript(decodedString(value), typeof script === 'string' ? scriptPreset(script) : script, recorder);
  const lines: string[] = [];
  let labels: string[] = [];
  let field = '';
  for (const event of recorder.events) {
    if (event === '{') labels = [];
    else if (event.endsWith(':')) field = event.slice(0, -1);
    else if (event.startsWith('@')) labels.push(`${field}=${JSON.parse(event.slice(1)) as string}`);
    else if (event.startsWith('"')) lines.push([...labels, JSON.parse(event) as string].join('|'));
  }
  return lines;
}

const PRESETS = Object.keys(SCRIPT_SAMPLES) as ScriptPreset[];

const OWN: ScriptSource = {
  patterns: [
    { match: '^--' },
    { match: String.raw`^\[(?<scene>[^\]]+)\]` },
    { line: '^T', match: String.raw`T(?<key>\w+)=(?<text>[^;]*)` },
    { match: '^> (?<text>.+)$', block: true },
    { match: '^(?<speaker>[A-Z]+)$' },
  ],
};

describe('readScript', () => {
  it.each(PRESETS)('reads the texts of %s with their speakers, scenes and keys', (preset) => {
    const [script, texts] = SCRIPT_SAMPLES[preset];
    expect(read(script, preset)).toEqual(texts);
    expect(read(script.replaceAll('\n', '\r\n'), preset)).toEqual(texts.map(withoutReturns));
  });

  it('reads by patterns of a rule: several in a line, blocks, and what a line gives to those below', () => {
    const script = 'BOB\n[one]\n-- T1=x\nTa=一;Tb=二\n> 三\n> 四\n\n> 五\nother\n';
    expect(read(script, compileScript(OWN))).toEqual([
      'key=a|speaker=BOB|scene=one|一',
      'key=b|speaker=BOB|scene=one|二',
      'speaker=BOB|scene=one|三\n> 四',
      'speaker=BOB|scene=one|五',
    ]);
    expect([...textsOf(script, compileScript(OWN)).keys()]).toEqual([
      'line[3].text',
      'line[3.2].text',
      'line[4].text',
      'line[6].text',
    ]);
  });

  it('counts lines that are joined as one', () => {
    expect([...textsOf('a=一\\\n 二\nb=三\n', scriptPreset('properties'))]).toEqual([
      ['line[0].text', '一二'],
      ['line[1].text', '三'],
    ]);
  });

  it('joins the lines of a quote behind a comment', () => {
    const file = '/* c */ "k" = "two\nlines"; /* "open\n"l" = "three";\n';
    expect(read(file, 'strings')).toEqual(['key=k|two\nlines', 'key=l|three']);
  });

  it('refuses a line with more matches than the limit, and groups that overlap', () => {
    const run =
      (match: string, text: string, limits = {}) =>
      () => {
        readScript(
          decodedString(text),
          compileScript({ patterns: [{ match }] }),
          createValueRecorder(limits),
        );
      };
    const words = String.raw`(?<text>\w+)`;
    expect(formatErrorOf(run(words, 'a b', { elements: 2 }))).toBeNull();
    expect(formatErrorOf(run(words, 'a b c', { elements: 2 }))?.code).toBe('container_limit_exceeded');
    expect(formatErrorOf(run('(?<text>(?<name>[A-Z]+): .*)', 'x\nBOB: hi'))).toMatchObject({
      code: 'script_invalid',
      offset: 2,
    });
  });

  it.each([
    ['"k" = "あ;\n', {}, 'script_invalid'],
    ['a\nb\nc', { elements: 2 }, 'container_limit_exceeded'],
  ])('refuses %j', (script, limits, code) => {
    const run = (): void => {
      readScript(decodedString(script), scriptPreset('strings'), createValueRecorder(limits));
    };
    expect(formatErrorOf(run)?.code).toBe(code);
  });

  it.each([
    ['(?=a)', 'is no regular expression of RE2'],
    ['(', 'is no regular expression of RE2'],
    [String.raw`(a)\1`, 'is no regular expression of RE2'],
    ['((a{100}){100}){100}', 'is no regular expression of RE2'],
    ['(?<who>a)', 'has a group "who"; the groups are text, name, speaker, scene, key'],
  ])('refuses the pattern %s, with its place', (match, message) => {
    const compile = (): unknown => compileScript({ patterns: [{ match: 'a' }, { match }] });
    expect(compile).toThrow(ScriptPatternError);
    expect(compile).toThrow(message);
    expect(() => compileScript({ patterns: [], sections: [{ begin: match }] })).toThrow(message);
  });

  it('takes time in proportion to the text, whatever the pattern', () => {
    const script = compileScript({
      patterns: [{ match: '^(?<text>(a|aa|a*)*)*b$' }, { match: '(.*)*(.*)*x' }],
    });
    // A backtracking engine would not end.
    expect(read('a'.repeat(20_000), script)).toEqual([]);
  });
});

function withoutReturns(text: string): string {
  return text.replaceAll('\r', '');
}

describe('patchScript', () => {
  it.each(PRESETS)('writes %s so that it reads back, and the old texts give the old bytes', (preset) => {
    const script = scriptPreset(preset);
    for (const lineEnd of ['\n', '\r\n']) {
      const file = Buffer.from(SCRIPT_SAMPLES[preset][0].replaceAll('\n', lineEnd));
      const texts = textsOf(file, script);
      const targets = [...texts.keys()].map((fieldPath, index) => ({ fieldPath, target: `Target ${index}` }));
      const edits = targets.map((edit) => ({ ...edit, source: texts.get(edit.fieldPath) ?? '' }));
      const patched = patchScript(file, edits, script, {});
      expect(textsOf(patched, script)).toEqual(editedTexts(texts, edits));
      const back = edits.map(({ fieldPath, source, target }) => ({
        fieldPath,
        source: target,
        target: source,
      }));
      expect(textsOf(patchScript(patched, back, script, {}), script)).toEqual(texts);
    }
  });

  it.each(PRESETS)('writes random texts of %s exactly, or refuses them', (preset) => {
    const script = scriptPreset(preset);
    const file = Buffer.from(SCRIPT_SAMPLES[preset][0]);
    const texts = textsOf(file, script);
    let written = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      for (const edit of randomEdits(texts, seed)) {
        let patched: Buffer | null = null;
        const refused = patchErrorOf(() => {
          patched = patchScript(file, [edit], script, {});
        });
        if (refused !== null) expect(refused.code).toBe('character_not_allowed');
        if (patched === null) continue;
        expect(textsOf(patched, script)).toEqual(editedTexts(texts, [edit]));
        written += 1;
      }
    }
    expect(written).toBeGreaterThan(100);
  });

  it('writes a name behind its text', () => {
    const script = compileScript({ patterns: [{ match: '^(?<text>.+) -- (?<name>.+)$' }] });
    const edits = [
      { fieldPath: 'line[0].name', source: 'Bob', target: 'Robert' },
      { fieldPath: 'line[0].text', source: 'Hi', target: 'Hello' },
    ];
    expect(patchScript('Hi -- Bob\n', edits, script, {})).toBe('Hello -- Robert\n');
  });

  it('escapes as the script does', () => {
    const properties = scriptPreset('properties');
    const edit = (source: string, target: string) => [{ fieldPath: 'line[0].text', source, target }];
    expect(patchScript('a=\\u3042\n', edit('あ', ' é\n'), properties, {})).toBe('a=\\ \\u00E9\\n\n');
    expect(patchScript('a=あ\n', edit('あ', 'é'), properties, {})).toBe('a=é\n');
    expect(patchScript('a=Start\n', edit('Start', '開始'), properties, {})).toBe('a=\\u958B\\u59CB\n');
    const renpy = scriptPreset('renpy');
    const say = String.raw`e "100\% of [x]"`;
    expect(patchScript(say, edit(String.raw`100\% of [x]`, String.raw`all "100\%"`), renpy, {})).toBe(
      String.raw`e "all \"100\%\""`,
    );
  });

  it.each([
    ['tyrano', 'あ\n', 'い\nう'],
    ['tyrano', 'あ\n', '[iscript]'],
    ['tyrano', 'あ\n', '; comment'],
    ['tyrano', 'あ\n', ''],
    ['yarn', 'title: a\n---\nあ\n===\n', 'い #line:2'],
  ] as const)('%s: refuses a text that would be code: %j, %j', (preset, file, target) => {
    const script = scriptPreset(preset);
    const [[fieldPath, source] = ['', '']] = textsOf(file, script);
    expect(patchErrorOf(() => patchScript(file, [{ fieldPath, source, target }], script, {}))).toEqual({
      code: 'character_not_allowed',
      fieldPath,
    });
  });

  it.each(PRESETS)('reads or refuses every damaged file of %s, and writes what it read', (preset) => {
    const script = scriptPreset(preset);
    const file = Buffer.from(SCRIPT_SAMPLES[preset][0]);
    const codes = new Set<string>();
    const count = campaignSize(2000, 40_000) / PRESETS.length;
    for (const bytes of mutations(file, { seed: 34, count })) {
      // Damaged characters become U+FFFD, so that the reader sees the rest.
      const damaged = bytes.toString();
      const code = formatErrorOf(() => {
        const [[fieldPath, source] = ['', '']] = textsOf(damaged, script);
        if (fieldPath === '') return;
        const edits = [{ fieldPath, source, target: source }];
        const refused = patchErrorOf(() => patchScript(damaged, edits, script, {}));
        if (refused !== null) expect(refused.code).toBe('character_not_allowed');
      });
      codes.add(code?.code ?? 'read');
    }
    expect([...codes].filter((code) => !['read', 'script_invalid'].includes(code))).toEqual([]);
    expect(codes).toContain('read');
  });
});
