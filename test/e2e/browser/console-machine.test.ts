import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { DESKTOP, PHONE } from '../../support/browser.ts';
import { openConsole } from '../../support/console-page.ts';
import { CONSOLE_FILES } from '../../support/console-release.ts';
import { startConsoleWorld, type ConsoleWorld } from '../../support/console-world.ts';
import { layoutFaults } from '../../support/layout-faults.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';
import {
  answerJson,
  startTranslationServer,
  type Reply,
  type TranslationServer,
} from '../../support/translation-server.ts';

interface Line {
  readonly id: string;
  readonly text: string;
  /** Only a line to review has one. */
  readonly translation?: string;
}

function linesOf(body: unknown): readonly Line[] {
  const { messages } = body as { readonly messages: readonly { readonly content: string }[] };
  const { script } = JSON.parse(messages[1]?.content ?? '{}') as { script: readonly (Line | string)[] };
  return script.filter((entry): entry is Line => typeof entry === 'object' && 'id' in entry);
}

/** Another translation for each text, in the script of the language. */
function translated(text: string): string {
  return text.replaceAll(/[ぁ-んァ-ヶー一-龠々]/g, (letter) =>
    String.fromCodePoint(0x4e00 + ((letter.codePointAt(0) ?? 0) % 2000)),
  );
}

function answer(response: ServerResponse, body: unknown): void {
  const rows = linesOf(body).map(({ id, text, translation }, at) => {
    const s = Array.from(text).slice(0, 12).join('');
    if (translation === undefined) return [id, { s, t: translated(text) }];
    const wrong = {
      kind: 'tone',
      severity: 'warning',
      quote: translation.slice(0, 1),
      message: 'too stiff',
    };
    return [id, { s, findings: at === 0 ? [wrong] : [] }];
  });
  const message = { role: 'assistant', content: JSON.stringify(Object.fromEntries(rows)) };
  const usage = { prompt_tokens: 400, completion_tokens: 100 };
  answerJson(response, { id: 'run-1', choices: [{ message, finish_reason: 'stop' }], usage });
}

const good: Reply = (body, response) => {
  answer(response, body);
};

/** Refuses requests with a text, as a filter does. */
function refusing(text: string): Reply {
  return (body, response) => {
    if (!linesOf(body).some((line) => line.text === text)) answer(response, body);
    else answerJson(response, { error: { message: 'flagged by the filter', code: 'content_filter' } }, 400);
  };
}

interface MachineWorld extends ConsoleWorld {
  readonly server: TranslationServer;
}

describe.skipIf(!hasTool('chromium'))('the page of machine translation', () => {
  const reused = reusedFixture<MachineWorld>(async (atEnd) => {
    const server = await startTranslationServer(good, atEnd);
    const kind = { kind: 'openai', url: server.url, allowHosts: ['127.0.0.1'] };
    const prices = { promptTokensPerMillion: 100, answerTokensPerMillion: 400 };
    const gpt = { ...kind, model: 'gpt-x', prices };
    const libre = { kind: 'libretranslate', url: server.url, allowHosts: ['127.0.0.1'] };
    const daemon = { translation: { provider: 'gpt', providers: { gpt, libre } } };
    const world = await startConsoleWorld({ work: false, daemon, atEnd });
    return { ...world, server };
  });

  it('tests a provider, estimates, translates, says why a line is missing, tries it again, and reviews', async () => {
    const world = await reused();
    const { server } = world;
    const task = await world.task(CONSOLE_FILES.proofread);
    const { page, troubles, violations, screenshot } = await openConsole(world, `#/machine?task=${task}`);
    const providers = page.getByRole('region', { name: 'Providers' });
    const run = page.getByRole('region', { name: 'Run', exact: true });
    await providers.getByText('From Japanese to Simplified Chinese.').waitFor();
    await providers.getByText('openai · gpt-x · the default').waitFor();

    // A test says at once whether the key is right, and stores nothing.
    server.reply = (_body, response) => {
      answerJson(response, { error: { message: 'the key has expired' } }, 401);
    };
    await providers.getByLabel('Line for a test').fill('こんにちは');
    await providers.getByRole('button', { name: 'Test gpt' }).click();
    await providers.getByText('Failing').waitFor();
    await providers.getByRole('rowgroup').getByText('the key has expired').waitFor();
    expect(await violations()).toEqual([]);
    await screenshot('machine-failing', { fullPage: true });
    server.reply = good;
    await providers.getByRole('button', { name: 'Test gpt' }).click();
    await providers.getByText(translated('こんにちは')).waitFor();
    await providers.getByText('Works').waitFor();

    // The estimate of one file shows the prompt; it sends nothing.
    const sent = server.seen();
    expect(await run.getByRole('button', { name: 'Start' }).count()).toBe(0);
    await run.getByRole('button', { name: 'Estimate' }).click();
    await run.getByText('12 open texts: 12 for the provider').waitFor();
    await run.getByText(/At most about 1 request · [\d,]+ tokens · cost 0\.\d+/).waitFor();
    await run.getByText('Prompt of the first request').first().click();
    await run.getByText('You translate texts of a game from Japanese').waitFor();
    expect(server.seen()).toBe(sent);
    expect(await violations()).toEqual([]);
    await screenshot('machine-estimate', { fullPage: true });

    // One line that the provider does not take.
    const refused = (await world.units(CONSOLE_FILES.proofread)).find(
      ({ source_text: source }) => !/[{%<[]/.test(source),
    );
    server.reply = refusing(refused?.source_text ?? '');
    await run.getByRole('button', { name: 'Start' }).click();
    await run.getByText('11 translated, 1 failed').waitFor();
    const failed = run.getByRole('list', { name: 'Texts without a translation' });
    await failed.getByText('Answer refused').waitFor();
    await failed.getByText('flagged by the filter').waitFor();
    await failed.locator(`a[href="#/translate-task/${task}?unit=${refused?.unit_id}"]`).waitFor();
    expect(await violations()).toEqual([]);
    await screenshot('machine-partly', { fullPage: true });
    server.reply = good;
    await run.getByRole('button', { name: 'Try again' }).click();
    await run.getByText('1 translated').waitFor();
    await failed.waitFor({ state: 'detached' });
    expect((await world.units(CONSOLE_FILES.proofread)).map((unit) => unit.translation?.state)).toEqual(
      Array.from({ length: 12 }, () => 'draft'),
    );

    // The same provider reviews, and its words are marked in the translation.
    await run.getByLabel('Work').selectOption('review');
    expect(await run.getByLabel('Provider').locator('option').allTextContents()).toEqual(['gpt']);
    await run.getByRole('button', { name: 'Estimate' }).click();
    await run.getByText('12 translations to review.').waitFor();
    await run.getByRole('button', { name: 'Start' }).click();
    await run.getByText('1 finding in 12 translations · 1 tone').waitFor();
    const history = page.getByRole('region', { name: 'Runs, newest first' });
    await expect.poll(async () => await history.getByRole('row').count()).toBe(1 + 3);
    await history.getByText('Partly').waitFor();
    const [first] = await world.units(CONSOLE_FILES.proofread);
    const { findings = [], target_text: target } = first?.translation ?? {};
    expect(findings).toMatchObject([{ check: 'tone', target_span: { start: 0, end: 1 } }]);
    await page.goto(`${world.url}#/translate-task/${task}?unit=${first?.unit_id}`);
    await page.getByText('too stiff').waitFor();
    const marked = page.locator('.target-mirror mark').first();
    await expect.poll(async () => await marked.textContent()).toBe(target?.slice(0, 1));
    await page.getByRole('link', { name: 'By machine' }).click();
    await run.getByText('Only one file').waitFor();
    expect(troubles).toEqual([]);
  });

  it.each([
    [DESKTOP, 'dark'],
    [PHONE, 'light'],
    [PHONE, 'dark'],
  ] as const)('fits %o, in %s', async (viewport, colorScheme) => {
    const world = await reused();
    const look = { viewport, colorScheme };
    const { page, violations, screenshot } = await openConsole(world, '#/machine', look);
    await page.getByRole('button', { name: 'Test libre' }).waitFor();
    const run = page.getByRole('region', { name: 'Run', exact: true });
    await run.getByRole('button', { name: 'Estimate' }).click();
    await run.getByText('for the provider').waitFor();
    await screenshot(`machine-${viewport.width}-${colorScheme}`, { fullPage: true });
    expect([...(await violations()), ...(await layoutFaults(page))]).toEqual([]);
  });

  it('offers a token only what it may do', async () => {
    const world = await reused();
    const { page } = await openConsole(world, '#/machine', { person: 'publish' });
    await page.getByText('openai · gpt-x').waitFor();
    expect(await page.getByRole('button', { name: 'Test gpt' }).count()).toBe(0);
    expect(await page.getByRole('region', { name: 'Run', exact: true }).count()).toBe(0);
    const other = await openConsole(world, '#/machine', { person: 'translate' });
    const work = other.page.getByLabel('Work').locator('option');
    await expect.poll(async () => await work.allTextContents()).toEqual(['Translate']);
  });
});
