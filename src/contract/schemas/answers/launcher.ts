import { z } from 'zod';
import { VerdictSchema } from './verdict.ts';

/** `/v1/launcher/bootstrap`: the document behind the manifest URL, as launchers read it, and the distribution health. */
export const LauncherBootstrapAnswer = {
  schema: z.object({
    source: z.string().describe('`/{cdn_host}/{release_id}`, to insert between CDN root and path.'),
    file: z.array(
      z.object({
        path: z.string().describe('`/` and the destination.'),
        hash: z
          .string()
          .regex(/^[0-9]{1,20}$/)
          .describe('CRC-64/XZ, unsigned decimal.'),
        size: z
          .string()
          .regex(/^[0-9]{1,16}$/)
          .describe('Bytes, decimal.'),
      }),
    ),
    distribution: VerdictSchema,
  }),
};

/** `/api/launcher/game/config`: the twelve fields that real launchers read. */
export const LauncherGameConfigAnswer = envelope(
  z.object({
    game_lowest_version: z.string(),
    game_latest_version: z.string(),
    game_latest_file_path: z.string(),
    game_start_exe_name: z.string(),
    game_file_size: z.string(),
    game_file_size_type: z.string(),
    crc64: z.string(),
    size: z.int(),
    file_url: z.string(),
    decompression_size: z.string(),
    config_id: z.int(),
    game_start_params: z.array(z.string()),
  }),
);

export type LauncherGameConfig = z.infer<typeof LauncherGameConfigAnswer.schema>;

/** `/api/launcher/game/config/json`. */
export const LauncherConfigJsonAnswer = envelope(
  z.object({ url: z.url().describe('The bootstrap JSON; launchers append a query to it.') }),
);

/** `/api/launcher/advanced/game/download/cdn`. */
export const LauncherCdnAnswer = envelope(
  z.object({
    back_up_cdn: z.url().describe('The public base URL.'),
    primary_cdn: z.url().describe('The public base URL.'),
  }),
);

function envelope<T extends z.ZodObject>(
  data: T,
): {
  readonly schema: z.ZodObject<{ code: z.ZodLiteral<200>; data: T; msg: z.ZodLiteral<'OK'> }, z.core.$strict>;
} {
  return { schema: z.strictObject({ code: z.literal(200), data, msg: z.literal('OK') }) };
}
