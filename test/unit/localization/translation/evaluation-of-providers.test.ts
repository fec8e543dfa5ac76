import { mkdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { QualityReport } from '../../../../src/localization/translation/quality/quality-report.ts';
import { runQuality } from '../../../../src/localization/translation/quality/run-quality.ts';
import {
  completion,
  linesOf,
  quickClock,
  sendJson,
  startProviderServer,
  type Reply,
  type SeenCall,
} from '../../../support/provider-harness.ts';
import { startDeepl } from '../../../support/deepl-server.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Answers each line by its text; a line without an answer is left out. */
const answering =
  (answerOf: (text: string, system: string) => string | undefined): Reply =>
  (call, response) => {
    const [system] = call.body.messages;
    const rows = linesOf(call).flatMap(({ id, text }) => {
      const t = answerOf(text, system.content);
      return t === undefined ? [] : [{ id, s: Array.from(text).slice(0, 12).join(''), t }];
    });
    sendJson(response, completion({ rows }));
  };

interface World {
  readonly folder: string;
  readonly calls: readonly SeenCall[];
  /** Writes a file. @returns its path */
  file(name: string, content: string): Promise<string>;
  /** Runs the command with the configuration, unless the arguments are whole. */
  run(...argv: readonly string[]): Promise<{ code: number; out: string; err: string }>;
  report(...argv: readonly string[]): Promise<QualityReport>;
}

/** @param more of the configuration, behind the first provider @param limits of it */
async function openWorld(
  reply: Reply,
  more = '',
  limits = '{ batchUnits: 2, attempts: 1, longestWaitSeconds: 0 }',
): Promise<World> {
  const folder = await temporaryDirectory();
  const { url, calls } = await startProviderServer(reply);
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(join(folder, name), content);
    return join(folder, name);
  };
  const config = await file(
    'daemon.yaml',
    `listen: { port: 1 }
translation:
  provider: mine
  providers:
    mine:
      kind: openai
      url: ${url}
      model: m
      allowHosts: ['127.0.0.1']
      instructions: Casual.
      prices: { promptTokensPerMillion: 1000, answerTokensPerMillion: 2000 }
      limits: ${limits}
${more}`,
  );
  const run: World['run'] = async (...argv) => {
    let [out, err] = ['', ''];
    const code = await runQuality(['evaluate', '--config', config, ...argv], {
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (err += text) },
      progress: { show: () => undefined, end: () => undefined },
      clock: quickClock(),
      random: () => 0,
      signal: new AbortController().signal,
      version: '0',
    });
    return { code, out, err };
  };
  return {
    folder,
    calls,
    file,
    run,
    report: async (...argv) => JSON.parse((await run('--json', ...argv)).out) as QualityReport,
  };
}

const record = (source: string, target: string, more: object = {}): string =>
  JSON.stringify({
    state: 'trusted',
    source_language: 'ja',
    target_language: 'zh-Hans',
    source_text: source,
    target_text: target,
    ...more,
  });

const unitLines = (...texts: readonly (readonly [string, string])[]): string =>
  texts.map(([source, target]) => JSON.stringify({ source_text: source, target_text: target })).join('\n');

describe('slipway translations evaluate', () => {
  it('compares a prompt with another one: likeness, terms, tokens, length, cost', async () => {
    const texts: Readonly<Record<string, readonly [casual: string, formal: string]>> = {
      ハルカさん: ['小春', '遥香同学'],
      'どうぞ<x id="1"/>': ['请<x id="1"/>', '请收下<x id="1"/>'],
      はい: ['好的好的好的', '是'],
    };
    const world = await openWorld(
      answering((text, system) => texts[text]?.[system.endsWith('Formal.') ? 1 : 0]),
      `parse:
  rules:
    - { destination: ['ui.json'], format: json, limits: [{ fields: [], maxCharacters: 3 }] }
`,
    );
    const set = await world.file(
      'set.jsonl',
      [
        record('ハルカさん', '遥香同学'),
        record('どうぞ{item}', '请收下{item}'),
        record('はい', '是', { context: { destination: 'ui.json', field_path: 'Text' } }),
      ].join('\n'),
    );
    const glossary = await world.file(
      'terms.csv',
      'source_term,recommended_translation,source_language,target_language\nハルカ,遥香,ja,zh-Hans\n',
    );
    const instructions = await world.file('formal.txt', 'Formal.\n');
    const {
      variants,
      texts: shown,
      ...head
    } = await world.report('--set', set, '--glossary', glossary, '--instructions', instructions);
    expect(head).toMatchObject({ set: { texts: 3, usable: 3, left_out: {} }, target_language: 'zh-Hans' });
    const all = { translated: 3, failed: 0, tokens: { of: 1, kept: 1 } };
    // Two files, so two requests; the clock of the test stands still.
    const usage = { requests: 2, prompt_tokens: 200, answer_tokens: 20, cost: 0.24 };
    expect(variants).toMatchObject([
      { ...all, name: 'mine', terms: { of: 1, kept: 0 }, length: { of: 1, kept: 0 }, with_errors: 2, usage },
      {
        ...all,
        name: `mine with ${instructions}`,
        chrf: 100,
        terms: { of: 1, kept: 1 },
        length: { of: 1, kept: 1 },
        with_errors: 0,
        usage,
      },
    ]);
    expect(variants[0]?.chrf).toBeLessThan(60);
    expect(variants[0]?.prompt_digest).not.toBe(variants[1]?.prompt_digest);
    expect(variants[0]?.estimate.cost).toBeGreaterThan(0.24);
    expect(shown[2]?.answers).toMatchObject([
      { target_text: '好的好的好的', chrf: 0 },
      { target_text: '是', chrf: 100, findings: [] },
    ]);
    // The reviewed translations are what is measured by: no prompt has them.
    expect(JSON.stringify(world.calls)).not.toContain('遥香同学');
    expect(JSON.stringify(world.calls)).toContain('遥香');
  });

  it('shows the estimate first, and asks nothing beyond a cap or in a dry run', async () => {
    const world = await openWorld(answering((text) => `${text}!`));
    const set = await world.file('set.jsonl', unitLines(['一', '1'], ['二', '2'], ['三', '3']));
    const dry = await world.run('--set', set, '--dry-run');
    expect(dry).toMatchObject({ code: 0, err: '' });
    expect(dry.out).toMatch(/^3 of 3 texts; the estimate is high[^]*mine +2 +\d+ +\d/);
    const asJson = await world.run('--set', set, '--dry-run', '--json', '--max-tokens', '1');
    expect(JSON.parse(asJson.out)).toMatchObject({
      format: 'slipway-evaluation-estimate-1',
      set: { file: set, texts: 3 },
      variants: [{ name: 'mine', model: 'm', estimate: { requests: 2 } }],
      estimate: { requests: 2 },
      fits: false,
    });
    const capped = await world.run('--set', set, '--max-cost', '0.001');
    expect(capped).toMatchObject({ code: 2, out: '' });
    expect(capped.err).toContain('is above the cap of a cost of 0.001; lower --limit, or raise');
    expect(capped.err).toMatch(/\nFor help: slipway translations evaluate --help\n$/);
    expect(world.calls).toHaveLength(0);
    const { code, out } = await world.run('--set', set, '--max-cost', '100');
    expect(code).toBe(0);
    expect(out).toMatch(/^VARIANT +CHRF[^]*mine +[\d.]+ +3 of 3/);
    expect(world.calls).toHaveLength(2);
  });

  it.each([
    ['--max-tokens=1.5', '--max-tokens: must be an integer, at least 1 (got "1.5")'],
    ['--max-tokens=0', '--max-tokens: must be an integer, at least 1 (got "0")'],
    ['--max-cost=1e3', '--max-cost: must be a number above 0, such as 2.5 (got "1e3")'],
    ['--max-cost=-1', '--max-cost: must be a number above 0, such as 2.5 (got "-1")'],
  ])('refuses %s, as runs do, and points to its own help', async (option, message) => {
    const world = await openWorld(answering((text) => text));
    expect(await world.run('--set', 'set.csv', option)).toEqual({
      code: 2,
      out: '',
      err: `slipway translations evaluate: ${message}\nFor help: slipway translations evaluate --help\n`,
    });
  });

  it('chooses the same texts wherever they are in the file, and each once', async () => {
    const world = await openWorld(answering((text) => text));
    const texts = Array.from({ length: 50 }, (_, at) => [`文${at}`, `t${at}`] as const);
    const chosen = async (name: string, lines: typeof texts): Promise<readonly string[]> => {
      const { set, texts } = await world.report(
        '--set',
        await world.file(name, unitLines(...lines)),
        '--limit',
        '5',
      );
      expect(set).toMatchObject({ texts: 5, usable: lines.length });
      return texts.map(({ source_text: source }) => source);
    };
    const [first, second] = [
      await chosen('a.jsonl', texts),
      await chosen('b.jsonl', [...texts, ...texts].reverse()),
    ];
    expect(second.toSorted()).toEqual(first.toSorted());
  });

  it.each([
    [
      'memory.jsonl',
      [
        record('一', '1'),
        record('二', '2', { state: 'candidate' }),
        record('三', '3', { target_language: 'ko' }),
        record('四', ' '),
        '{"source_language":"ja"}',
      ].join('\n'),
      { not_reviewed: 1, other_languages: 1, without_translation: 1, not_readable: 1 },
    ],
    [
      'other.tmx',
      '<tmx version="1.4"><header srclang="ja"/><body><tu><tuv xml:lang="ja"><seg>一</seg></tuv><tuv xml:lang="zh-CN"><seg>1</seg></tuv></tu></body></tmx>',
      {},
    ],
    ['units.csv', 'source,target\n一,1\n二,\n', { without_translation: 1 }],
  ])('reads the set %s, and counts what it leaves out', async (name, content, leftOut) => {
    const world = await openWorld(answering((text) => text));
    const { set, texts } = await world.report('--set', await world.file(name, content));
    expect(set).toMatchObject({ texts: 1, left_out: leftOut });
    expect(texts).toMatchObject([{ source_text: '一', reference: '1' }]);
  });

  it('compares prepared translations without asking anyone', async () => {
    const world = await openWorld(answering((text) => text));
    const set = await world.file('set.jsonl', unitLines(['一', '1'], ['二', '2']));
    const fixture = await world.file('human.jsonl', '{"source_text":"一","translated_text":"1"}\n');
    const { variants } = await world.report('--set', set, '--fixture', fixture);
    expect(variants).toMatchObject([
      { name: fixture, translated: 1, failed: 1, failures: { not_in_fixture: 1 }, usage: { cost: 0 } },
    ]);
    expect(world.calls).toHaveLength(0);
  });

  it('stops asking a provider whose account has trouble, and says why', async () => {
    const world = await openWorld((_call, response) => {
      sendJson(response, { error: { message: 'no such key' } }, 401);
    });
    const set = await world.file('set.jsonl', unitLines(['一', '1'], ['二', '2'], ['三', '3']));
    const { code, out } = await world.run('--set', set);
    expect(code).toBe(1);
    expect(out).toMatch(/mine +0\.00 +0 of 3[^]*mine: 3 failed: .*no such key/);
    expect(world.calls).toHaveLength(1);
  });

  it('goes on after trouble that passes, until three requests in a row have met it', async () => {
    let calls = 0;
    const good = answering((text) => text);
    const failing: Reply = (call, response, ...rest) => {
      calls += 1;
      if (calls > 2) return good(call, response, ...rest);
      return sendJson(response, { error: { message: 'try later' } }, 500);
    };
    const patient = '{ batchUnits: 1, attempts: 2, longestWaitSeconds: 300 }';
    const world = await openWorld(failing, '', patient);
    const texts = Array.from({ length: 5 }, (_, at) => [`text ${at}`, 'x'] as const);
    const set = await world.file('set.jsonl', unitLines(...texts));
    const { variants } = await world.report('--set', set);
    expect(variants).toMatchObject([{ translated: 4, failures: { provider_error: 1 } }]);
    const out = await openWorld((_call, response) => sendJson(response, {}, 500), '', patient);
    const { variants: none } = await out.report('--set', set);
    expect(none).toMatchObject([{ translated: 0, failures: { provider_error: 5 } }]);
    // The first is asked for twice, and each of the others finds out once whether it is over.
    expect(out.calls).toHaveLength(4);
  });

  it('tells what runs tell: what a text is for, and the terms, also to DeepL', async () => {
    const deepl = await startDeepl();
    const world = await openWorld(
      answering((text) => text),
      `    deepl:
      kind: deepl
      url: ${deepl.url}
      tokenFile: ${deepl.tokenFile}
      allowHosts: ['127.0.0.1']
`,
    );
    const context = { destination: 'a.json', field_path: 'itemDesc', scene: 'prologue' };
    const set = await world.file('set.jsonl', record('先生', '老师', { context }));
    const head = 'source_term,recommended_translation,source_language,target_language\n';
    const glossary = await world.file('terms.csv', `${head}x,,ja,zh-Hans\n先生,老师,ja,zh-Hans\n`);
    const providers = ['--provider', 'mine', '--provider', 'deepl'];
    const { code, err } = await world.run('--set', set, '--glossary', glossary, ...providers);
    expect(code).toBe(0);
    expect(err).toContain(`${glossary}: 1 entry left out, the first in line 2: it has no translation`);
    const [call] = world.calls;
    expect(JSON.parse(call?.body.messages[1].content ?? '')).toMatchObject({
      kind: 'item description',
      scene: 'prologue',
    });
    // Beside the glossary of runs.
    const [kept] = deepl.glossaries.values();
    expect(kept?.name).toMatch(/^slipway JA ZH-HANS \(.*terms\.csv\) /);
    expect(deepl.asked()).toMatchObject([{ body: { glossary_id: 'g1' } }]);
  });

  it('shows what it has paid for, also when the page cannot be written', async () => {
    const folder = await temporaryDirectory();
    const page = join(folder, 'report.html');
    const good = answering((text) => text);
    const world = await openWorld((call, response, ...rest) => {
      mkdirSync(page);
      return good(call, response, ...rest);
    });
    const set = await world.file('set.jsonl', unitLines(['一', '1']));
    const { code, out, err } = await world.run('--set', set, '--html', page);
    expect([code, out.startsWith('VARIANT')]).toEqual([2, true]);
    expect(err).toContain(`--html: ${page} cannot be written: EISDIR`);
    const again = await world.run('--set', set, '--html', page);
    expect(again).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('it is a folder') as string,
    });
    expect(world.calls).toHaveLength(1);
  });

  it('writes a page that runs and loads nothing, whatever the texts are', async () => {
    const attack = '<script>alert(1)</script>"\'&\u202e';
    const world = await openWorld(answering((text) => text));
    const set = await world.file('set.jsonl', unitLines(['一', attack]));
    const fixture = await world.file(
      'human.jsonl',
      `${JSON.stringify({ source_text: '一', translated_text: attack })}\n`,
    );
    const page = join(world.folder, 'report.html');
    expect(await world.run('--set', set, '--fixture', fixture, '--html', set)).toMatchObject({ code: 2 });
    expect(await world.run('--set', set, '--fixture', fixture, '--html', page)).toMatchObject({ code: 0 });
    const html = await readFile(page, 'utf8');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;[U+202E]');
    expect(html).not.toMatch(/<script|src=|href=|url\(/);
    expect(html).toContain("default-src 'none'");
  });

  it.each([
    [['--limit', '0', '--set', 'x'], '--limit: must be a whole number from 1 to 5000 (got "0")'],
    [['--max-cost', 'x', '--set', 'x'], '--max-cost: must be a number above 0, such as 2.5 (got "x")'],
    [[], '--set is missing'],
    [
      ['--set', '/nonexistent.jsonl'],
      'there is no file /nonexistent.jsonl; slipway ctl memory export writes to the exchange folder',
    ],
    [['--set', 'set.doc'], 'set.doc: the name of a set ends with .tmx or .jsonl, or units: .xlf'],
    [
      ['--set', 'x.csv', '--provider', 'other'],
      'there is no provider of this name; the configuration has mine',
    ],
    [['--set', 'x.csv', '--provider', 'memory-only'], 'it cannot be asked'],
    [['--set', 'x.csv', '--glossary', 'terms.txt'], 'the name of a Glossary ends with .tbx or .csv'],
    [['--set', 'x.csv', '--html', '/none/a.html'], '--html: /none/a.html cannot be written: ENOENT'],
    [['--set', 'x.csv', '--instructions', '/none'], '--instructions: /none cannot be read: ENOENT'],
  ])('%j is refused', async (argv, problem) => {
    const world = await openWorld(answering((text) => text));
    const { code, out, err } = await world.run(...argv);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(problem);
  });
});
