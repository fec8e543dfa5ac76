import { z } from 'zod';
import { CHANNEL_CHOICES } from '../../domain/release/channel.ts';
import { requireGlob } from '../../platform/config/glob-schema.ts';

/** The section `serverInfo`. */
export const serverInfo = z
  .strictObject({
    channel: z
      .enum(CHANNEL_CHOICES)
      .default('official')
      .describe('The channel whose release AddressablesCatalogUrlRoot points at.'),
    keepOverrides: z
      .array(z.string().min(1))
      .max(64)
      .default([])
      .describe('Names of OverrideConnectionGroups whose root is not rewritten.'),
  })
  .prefault({})
  .describe('The rewritten server-info document.');

const globs = z.array(z.string().max(512).superRefine(requireGlob)).max(64).default([]);

/** The section `launcher`. */
export const launcher = z
  .strictObject({
    channel: z
      .enum(CHANNEL_CHOICES)
      .default('official')
      .describe('The channel whose release launchers install.'),
    include: globs.describe(
      'Globs of the destinations that launchers install, such as TableBundles/**; none means all.',
    ),
    exclude: globs.describe(
      'Globs of destinations that launchers do not install, such as {Android,iOS}_PatchPack/**.',
    ),
    gameLowestVersion: z
      .string()
      .max(64)
      .optional()
      .describe('Lowest version that clients may run; default: the version of the release.'),
    gameLatestVersion: z
      .string()
      .max(64)
      .optional()
      .describe('Version that launchers show; default: the version of the release.'),
    gameLatestFilePath: z
      .string()
      .regex(/^[^/\\].*\.zip$/, 'must be a relative path that ends in .zip')
      .optional()
      .describe('Path that launchers send back to config/json; default: derived from the release id.'),
    gameStartExeName: z.string().min(1).default('BlueArchive').describe('Executable the launcher starts.'),
    gameStartParams: z
      .array(z.string())
      .max(64)
      .default([])
      .describe('Arguments the launcher passes to the executable.'),
    decompressionSize: z
      .string()
      .regex(
        /^[0-9]{1,9}(?:\.[0-9]{1,3})? ?(?:B|KB|MB|GB|TB)$/,
        'must be a number with a unit, such as 6.5GB (1 GB is 1024³ bytes)',
      )
      .optional()
      .describe(
        'Required space that launchers show, such as 6.5GB (1 GB is 1024³ bytes); default: the sizes of the files that launchers install.',
      ),
  })
  .prefault({})
  .describe('Values of the launcher-compatible endpoints.');
