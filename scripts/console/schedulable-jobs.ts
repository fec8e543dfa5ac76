import { z } from 'zod';
import { ControlBodySchema } from '../../src/contract/actions/control-body.ts';
import { channel, flag, releaseId, wholeNumber, word } from '../../src/contract/actions/field-schemas.ts';
import type { JobScope } from '../../src/contract/actions/control-scopes.ts';
import { PUBLISH_ARGUMENTS } from '../../src/contract/actions/publish-arguments.ts';
import { formatNames } from '../../src/contract/formats/exchange-formats.ts';
import { triedText, WORKER_ARGUMENTS } from '../../src/contract/actions/worker-arguments.ts';
import type { ScheduleGroup } from '../../src/contract/schemas/vocabulary.ts';

interface SchedulableJob {
  readonly title: string;
  /** That a token needs to schedule it, run it or cancel it, as the daemon's job says. */
  readonly scope: JobScope;
  readonly groups: readonly ScheduleGroup[];
  /** The arguments that `key=value` pairs can give. */
  readonly arguments: z.ZodObject;
}

const BODY = ControlBodySchema.shape;
const force = BODY.force.unwrap();
const text = z.string();

const SELECTED_RELEASES = z
  .strictObject({
    channel: channel.meta({ title: 'Channel', description: 'Only the current release of this channel.' }),
    release_id: releaseId.meta({ title: 'Release', description: 'Only this release.' }),
    force,
  })
  .partial();

const FORCED = z.strictObject({ force }).partial();

const languages = {
  source_language: text.meta({ title: 'From language', description: 'Default: the configured one.' }),
  target_language: text.meta({ title: 'To language', description: 'Default: the configured one.' }),
};
const file = text.meta({
  title: 'File',
  description: 'A file of the exchange folder, relative to `exchange.root`.',
});
const dryRun = flag.meta({ title: 'Dry run', description: 'Only shows what would happen.' });

function importArguments(formats: readonly [string, ...string[]]): z.ZodObject {
  return z.strictObject({
    file,
    format: word(formats)
      .meta({ title: 'Format', description: 'Default: that of the ending of the file.' })
      .optional(),
    trusted: flag
      .meta({
        title: 'Take the states of the file',
        description: 'Needs a reviewer. Without it, everything comes in as a draft or candidate.',
      })
      .optional(),
    ...z
      .strictObject({
        ...languages,
        dry_run: dryRun,
        reviewer: BODY.reviewer.unwrap(),
        reason: BODY.reason.unwrap(),
      })
      .partial().shape,
  });
}

function exportArguments(formats: readonly [string, ...string[]], states: string): z.ZodObject {
  return z.strictObject({
    file,
    format: word(formats)
      .meta({ title: 'Format', description: 'Default: that of the ending of the file.' })
      .optional(),
    include: text
      .meta({ title: 'States', description: `Which ones, with commas. Default: \`${states}\`.` })
      .optional(),
    ...z.strictObject(languages).partial().shape,
  });
}

const RES = ['res'] as const;
const PARSE = ['parse'] as const;
const I18N = ['i18n'] as const;

function job(
  title: string,
  scope: JobScope,
  groups: readonly ScheduleGroup[],
  fields: z.ZodObject = z.strictObject({}),
): SchedulableJob {
  return { title, scope, groups, arguments: fields };
}

/**
 * The jobs that schedules can run, by the name that a schedule gives in `action`. The daemon has its own definitions; a test
 * compares them.
 */
export const SCHEDULABLE_JOBS: Readonly<Record<string, SchedulableJob>> = {
  sync: job('Sync now', 'operate', RES, FORCED),
  'catalog-refresh': job('Look for a new upstream release', 'operate', RES, FORCED),
  verify: job('Verify releases', 'operate', RES, SELECTED_RELEASES),
  repair: job('Repair releases', 'operate', RES, SELECTED_RELEASES),
  refresh: job('Check the releases and renew the attestation', 'operate', RES, FORCED),
  'release-cleanup': job(
    'Delete old releases',
    'operate',
    RES,
    z
      .strictObject({
        count: wholeNumber({ min: 1 }).meta({
          title: 'Releases to keep',
          description: 'Of each channel. Without it, as many as are configured.',
        }),
        id: releaseId.meta({ title: 'Official release', description: 'Deletes only this one.' }),
        localized_release_id: releaseId.meta({
          title: 'Localized release',
          description: 'Deletes only this one.',
        }),
        force,
        dry_run: dryRun,
      })
      .partial(),
  ),
  parse: job('Index the text', 'operate', PARSE),
  'parse-full': job('Index the text again from the start', 'operate', PARSE),
  'text-differences': job(
    'List the texts that differ between two releases',
    'read',
    PARSE,
    z.strictObject({
      from: releaseId.meta({ title: 'From release' }),
      to: releaseId.meta({ title: 'To release' }),
      offset: wholeNumber({ min: 0 }).meta({ title: 'Leave out the first' }).optional(),
      limit: wholeNumber({ min: 1, max: 1000 }).meta({ title: 'At most' }).optional(),
    }),
  ),
  'localized-publish': job(
    'Publish a localized release',
    'publish',
    I18N,
    z
      .strictObject({
        from_worker: BODY.from_worker.unwrap(),
        translation_file: BODY.translation_file.unwrap(),
        patch_manifest: BODY.patch_manifest.unwrap(),
        localized_release_id: releaseId.meta({ title: 'Name of the new release' }),
        force,
        // A schedule cannot resume: that is the decision of a person.
        ...PUBLISH_ARGUMENTS.omit({ resume: true }).shape,
      })
      .partial(),
  ),
  'localized-follow': job('Publish when something has changed', 'publish', I18N),
  'task-build': job('Build the translation tasks', 'operate', I18N),
  propagate: job('Carry translations to repeated texts', 'operate', I18N),
  requalify: job('Recheck stored translations', 'operate', I18N),
  'worker-run': job(
    'Translate with a provider',
    'translate',
    I18N,
    z
      .strictObject({
        provider: BODY.provider.unwrap(),
        max_tasks: BODY.max_tasks.unwrap(),
        max_tokens: WORKER_ARGUMENTS.shape.max_tokens,
        max_cost: WORKER_ARGUMENTS.shape.max_cost,
        task_id: BODY.task_id.unwrap(),
        concurrency: BODY.concurrency.unwrap(),
        max_attempts: BODY.max_attempts.unwrap(),
        lease_seconds: BODY.lease_seconds.unwrap(),
        retry_backoff_seconds: BODY.retry_backoff_seconds.unwrap(),
        worker_id: BODY.worker_id.unwrap(),
        fixture_path: BODY.fixture_path.unwrap(),
        translation_memory_path: BODY.translation_memory_path.unwrap(),
        glossary_path: BODY.glossary_path.unwrap(),
        force,
        dry_run: WORKER_ARGUMENTS.shape.dry_run,
        try_text: triedText,
      })
      .partial(),
  ),
  'handoff-export': job(
    'Write the work of translators to a file',
    'operate',
    I18N,
    z
      .strictObject({
        format: word(formatNames('units')).meta({ title: 'Format' }),
        states: text.meta({ title: 'States', description: 'States of the units, with commas.' }),
        include: text.meta({ title: 'Only these files', description: 'A glob of files.' }),
        copy_source: flag.meta({
          title: 'Copy the source',
          description:
            'Writes a missing translation as a copy of its source; only for XLIFF. Default: yes for XLIFF 1.2.',
        }),
      })
      .partial(),
  ),
  proofread: job(
    'Check translated tasks',
    'review',
    I18N,
    z
      .strictObject({
        max_tasks: BODY.max_tasks.unwrap(),
        provider: BODY.provider.unwrap(),
        fixture_path: BODY.fixture_path.unwrap(),
        ...WORKER_ARGUMENTS.shape,
      })
      .partial(),
  ),
  'term-mine': job(
    'Find terms in the texts',
    'translate',
    I18N,
    z
      .strictObject({
        min_count: wholeNumber({ min: 2, max: 1_000_000 }).meta({
          title: 'Fewest texts',
          description: 'With a term. Default: 5.',
        }),
        limit: wholeNumber({ min: 1, max: 1000 }).meta({
          title: 'At most',
          description: 'Terms. Default: 100.',
        }),
        provider: BODY.provider.unwrap().meta({
          title: 'Provider',
          description: 'A language model that sorts the terms and leaves out ordinary words. Default: none.',
        }),
        ...WORKER_ARGUMENTS.shape,
      })
      .partial(),
  ),
  'memory-maintain': job('Check the Translation Memory', 'operate', I18N),
  'memory-import': job(
    'Import a file into the Translation Memory',
    'translate',
    I18N,
    importArguments(formatNames('memory')),
  ),
  'memory-export': job(
    'Export the Translation Memory to a file',
    'translate',
    I18N,
    exportArguments(formatNames('memory'), 'trusted,candidate'),
  ),
  'glossary-import': job(
    'Import a file into the Glossary',
    'translate',
    I18N,
    importArguments(formatNames('terms')),
  ),
  'glossary-export': job(
    'Export the Glossary to a file',
    'translate',
    I18N,
    exportArguments(formatNames('terms'), 'draft,approved,deprecated'),
  ),
  backup: job('Back up the databases', 'operate', I18N),
};
