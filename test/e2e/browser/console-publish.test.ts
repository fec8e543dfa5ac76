import { describe, expect, it } from 'vitest';
import { PHONE } from '../../support/browser.ts';
import { openConsole } from '../../support/console-page.ts';
import { CONSOLE_RELEASES } from '../../support/console-release.ts';
import { startConsoleWorld } from '../../support/console-world.ts';
import { pressOn, tabTo, typeInto } from '../../support/keyboard.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

const [, BASE] = CONSOLE_RELEASES;

describe.skipIf(!hasTool('chromium'))('the page that publishes', () => {
  const reused = reusedFixture(async (atEnd) => await startConsoleWorld({ atEnd }));

  it('leads from the blockers over a trial to a publication, and back, with the keyboard alone', async () => {
    const world = await reused();
    const { page, troubles, violations, screenshot } = await openConsole(world, '#/publish');
    const publishing = page.getByRole('region', { name: 'Publish', exact: true });
    const published = page.getByRole('region', { name: 'Published releases' });

    // The blocked units are there before anything is tried, each with a link to itself.
    const blockers = page.getByRole('region', { name: 'Blockers' });
    await blockers.getByText('Blocked units (4)').waitFor();
    // What they mean for a publication is said beside them.
    await blockers
      .getByText(
        /^(?:They prevent a publication|It prevents a publication|None of them prevents|\d of them prevent)/,
      )
      .waitFor();
    await blockers.getByText('2 units').waitFor();
    const [blocked] = (await world.read('translation.handoff')).releases[0]?.blocked ?? [];
    await blockers
      .locator(`a[href="#/translate-task/${blocked?.task_id}?unit=${blocked?.unit_id}"]`)
      .waitFor();
    expect(await violations()).toEqual([]);

    // A trial that has drafts too is blocked, so nothing can be published.
    await tabTo(page, publishing.getByLabel('Lowest state'));
    await page.keyboard.type('draft');
    await expect.poll(async () => await publishing.getByLabel('Lowest state').inputValue()).toBe('draft');
    await pressOn(page, publishing.getByRole('button', { name: 'Start a dry run' }));
    await publishing.getByText('4 units have blocking findings').waitFor();
    expect(await publishing.getByRole('button', { name: 'Publish', exact: true }).count()).toBe(0);
    // Each is named by its text, and leads to it.
    await publishing.locator('a[href*="?unit=tu1_"]').first().waitFor();
    expect(await publishing.getByText(/tu1_|gqa1_/).count()).toBe(0);
    expect(await violations()).toEqual([]);

    // A choice of files without them is not.
    await pressOn(page, publishing.getByLabel('Lowest state'), 'Home');
    await typeInto(page, publishing.getByLabel('Files'), 'Scenario/Main/**');
    await page.keyboard.press('Tab');
    await publishing.getByText('has changed since the dry run').waitFor();
    await pressOn(page, publishing.getByRole('button', { name: 'Start a dry run' }));
    await pressOn(page, publishing.locator('summary').filter({ hasText: 'Files with translations' }));
    await publishing.getByText('120 units').waitFor();
    // The lines that readers of the served release would see change, as a rollback shows them.
    await publishing
      .getByText(new RegExp(`^Readers of ${BASE}-l2 will see [\\d,]+ lines change\\.$`))
      .waitFor();
    const lines = publishing.getByRole('list', { name: 'Lines that readers will see change' });
    expect(await lines.getByRole('listitem').count()).toBeGreaterThan(60);
    await screenshot('publish-tried', { fullPage: true });
    await typeInto(page, publishing.getByLabel('Reason'), 'only the main story');
    await pressOn(page, publishing.getByRole('button', { name: 'Publish', exact: true }));
    await publishing.getByText('Published.').waitFor();
    await publishing.getByText('For the next publication, start another dry run.').waitFor();
    await page
      .locator('.verdict-bar')
      .getByRole('link', { name: new RegExp(`Localized served ${BASE}-l3`) })
      .waitFor();
    await screenshot('publish-done', { fullPage: true });
    await pressOn(page, publishing.getByRole('button', { name: 'Start a dry run' }));
    await publishing.getByText('Nothing would change').waitFor();
    await publishing.getByText('There is nothing to publish.').waitFor();
    expect(await publishing.getByRole('button', { name: 'Publish', exact: true }).count()).toBe(0);

    // The way back shows the lines that readers will see change.
    await pressOn(page, published.getByRole('button', { name: `Roll back to this … ${BASE}-l2` }));
    await published.getByText('Readers will see').waitFor();
    const changes = published.getByRole('list', { name: 'Lines that readers will see change' });
    await expect.poll(async () => await changes.getByRole('listitem').count()).toBeGreaterThan(60);
    // The release that is taken back has only texts that the other one has, too.
    await published.getByText('No unit is put on hold.').waitFor();
    expect(await violations()).toEqual([]);
    await screenshot('publish-rollback', { fullPage: true });
    await expect
      .poll(async () => await published.getByRole('button', { name: 'Roll back', exact: true }).isDisabled())
      .toBe(true);
    await typeInto(page, published.getByLabel('Reason of the rollback'), 'the side stories are missing');
    await pressOn(page, published.getByRole('button', { name: 'Roll back', exact: true }));
    await published.getByText('Rolled back.').waitFor();
    await published.getByText(/: the side stories are missing$/).waitFor();
    await page
      .getByRole('region', { name: 'Base and coverage' })
      .getByText('Stopped', { exact: true })
      .waitFor();
    expect(troubles).toEqual([]);
  });

  it('withdraws the channel when there is no way back, and tells it', async () => {
    const localized = { minState: 'draft', minCoverage: 0 };
    const world = await startConsoleWorld({ work: false, daemon: { localized } });
    const empty = await openConsole(world, '#/publish', { viewport: PHONE, colorScheme: 'dark' });
    await empty.page.getByText('Nothing is published yet. Start with a dry run above.').waitFor();
    expect(await empty.violations()).toEqual([]);
    const destination = 'Tables/Mail.csv';
    await world.act('admin', 'translation-task-update', {
      task_id: await world.task(destination),
      status: 'in_progress',
      translation_results: (await world.units(destination)).slice(0, 2).map((unit) => ({
        unit_id: unit.unit_id,
        source_text: unit.source_text,
        translated_text: unit.source_text.replaceAll(/[ぁ-んァ-ヶー一-龠々]+/g, '译'),
      })),
    });
    await world.ended(
      await world.act('admin', 'localized-publish', {
        from_worker: true,
        force: true,
        args: ['min_state=draft'],
      }),
    );
    const { page, violations, troubles } = empty;
    const published = page.getByRole('region', { name: 'Published releases' });
    await published.getByRole('button', { name: 'Withdraw the localized channel …' }).click();
    await published.getByText('Readers will see 2 lines in the official text again.').waitFor();
    await published.getByText('No unit is put on hold.').waitFor();
    expect(await violations()).toEqual([]);
    await published.getByLabel('Reason of the rollback').fill('placeholders everywhere');
    await published.getByRole('button', { name: 'Withdraw the channel' }).click();
    await published.getByText('Withdrawn.').waitFor();
    await page
      .getByRole('region', { name: 'Base and coverage' })
      .getByText('Readers have the official texts until the next publication.')
      .waitFor();

    // The automation is off by default, and the next publication still has to resume.
    const publishing = page.getByRole('region', { name: 'Publish', exact: true });
    await publishing.getByRole('button', { name: 'Start a dry run' }).click();
    await publishing.getByText('A rollback has stopped publishing. This publication resumes it.').waitFor();
    await publishing.getByRole('button', { name: 'Publish', exact: true }).click();
    await publishing.getByText('Published.').waitFor();
    expect(troubles).toEqual([]);
  });

  it('takes an announced release back, and the current one stays', async () => {
    const localized = { minState: 'draft', minCoverage: 0 };
    const releases = { announceSeconds: 3600, switchLeadSeconds: 3600 };
    const world = await startConsoleWorld({ work: false, daemon: { localized, releases } });
    // The second official release is announced, too, so the first one stays current.
    const [base] = CONSOLE_RELEASES;
    const { page, troubles } = await openConsole(world, '#/publish');
    const destination = 'Tables/Mail.csv';
    const units = await world.units(destination);
    const publish = async (count: number): Promise<void> => {
      await world.act('admin', 'translation-task-update', {
        task_id: await world.task(destination),
        status: 'in_progress',
        translation_results: units.slice(count - 1, count).map((unit) => ({
          unit_id: unit.unit_id,
          source_text: unit.source_text,
          translated_text: unit.source_text.replaceAll(/[ぁ-んァ-ヶー一-龠々]+/g, '译'),
        })),
      });
      const body = { from_worker: true, force: true, args: ['min_state=draft'] };
      await world.ended(await world.act('admin', 'localized-publish', body));
    };
    await publish(1);
    // The channel has a current release now, so the next one is announced.
    await publish(2);
    const published = page.getByRole('region', { name: 'Published releases' });
    await published.getByText(`${base}-l2 is announced.`).waitFor();
    await published.getByRole('button', { name: 'Roll it back …' }).click();
    await published.getByText('Readers will see 1 line change.').waitFor();
    await published.getByLabel('Reason of the rollback').fill('too early');
    await published.getByRole('button', { name: 'Roll back', exact: true }).click();
    await published.getByText('Rolled back.').waitFor();
    await published.getByText(`${base}-l2 is announced.`).waitFor({ state: 'detached' });
    const status = await world.read('release.status');
    expect(status.announced_localized).toBeNull();
    expect((await world.read('translation.status')).current?.localized_release_id).toBe(`${base}-l1`);
    expect(troubles).toEqual([]);
  });

  it('shows a token without the scope what a publication would have, and no button', async () => {
    const world = await reused();
    const { page, violations } = await openConsole(world, '#/publish', { person: 'translate' });
    await page.getByText('This token cannot publish').waitFor();
    await page.getByRole('region', { name: 'Blockers' }).waitFor();
    expect(await page.getByRole('button', { name: 'Start a dry run' }).count()).toBe(0);
    expect(await violations()).toEqual([]);
  });
});
