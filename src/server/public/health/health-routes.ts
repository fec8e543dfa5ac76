import { PUBLIC_OPERATIONS } from '../../../contract/operations/operations-public.ts';
import type { Health } from '../../../contract/schemas/answers/health.ts';
import type { Channel } from '../../../domain/release/channel.ts';
import type { ServiceAnswer, ServiceState } from '../../../domain/service-state/service-state.ts';
import { jsonAnswer, NO_STORE } from '../../http/answer.ts';
import { publicRoute, type PublicRoute } from '../../http/public-route.ts';
import type { ServingControl } from '../../serving/serving.ts';
import type { PublicParts } from '../public-parts.ts';
import { renderHealth, renderHealthBrief, servedAnnouncement } from '../release/release-body.ts';

/** `/healthz` and `/readyz`. They read memory only and wait for nothing. */
export function healthRoutes(parts: PublicParts): readonly PublicRoute[] {
  const { serving, presence, clock, isShuttingDown } = parts;
  const startedAt = clock.monotonic();

  return [
    // 200 while the process is alive.
    publicRoute(PUBLIC_OPERATIONS.getHealth, () => {
      const refresh = parts.refresher.diagnostics();
      const attestation = serving.attestation();
      const verdicts = { official: serving.verdict('official'), localized: serving.verdict('localized') };
      const service = parts.service();
      const nowSeconds = Math.floor(clock.now() / 1000);
      return jsonAnswer(
        {
          status: service.state === 'healthy' ? 'ok' : 'degraded',
          version: parts.version,
          uptime_seconds: Math.floor((clock.monotonic() - startedAt) / 1000),
          refresh: {
            last_attempt_at: seconds(refresh.lastAttemptAt),
            last_success_at: seconds(refresh.lastSuccessAt),
            consecutive_failures: refresh.consecutiveFailures,
            last_error_code: refresh.lastErrorCode,
          },
          daemon: presence.state(),
          attestation:
            attestation === null
              ? null
              : {
                  version: attestation.statement.version,
                  issued_at: attestation.statement.issued_at,
                  expires_at: attestation.statement.expires_at,
                  age_seconds: Math.max(0, nowSeconds - attestation.statement.issued_at),
                },
          verdicts: {
            official: renderHealthBrief(verdicts.official),
            localized: renderHealthBrief(verdicts.localized),
          },
          announced: {
            official: announcedOf(serving, 'official'),
            localized: announcedOf(serving, 'localized'),
          },
          service: renderServiceState(service),
        } satisfies Health,
        { cacheControl: NO_STORE },
      );
    }),
    // 200 while the official release is distributable and the server is not shutting down.
    publicRoute(PUBLIC_OPERATIONS.getReadiness, ({ verbose }) => {
      const verdict = serving.verdict('official');
      const isReady = verdict.distributable && !isShuttingDown();
      return jsonAnswer(
        {
          ...renderHealth(verdict, verbose),
          ...(isShuttingDown() ? { shutting_down: true } : {}),
        },
        { cacheControl: NO_STORE, status: isReady ? 200 : 503 },
      );
    }),
  ];
}

function announcedOf(serving: ServingControl, channel: Channel): Health['announced'][Channel] {
  const announced = servedAnnouncement(serving, channel);
  return announced === null ? null : { release_id: announced.release_id, current_at: announced.current_at };
}

function renderServiceState({ channels, ...whole }: ServiceAnswer): Health['service'] {
  return {
    ...renderState(whole),
    channels: { official: renderState(channels.official), localized: renderState(channels.localized) },
  };
}

function renderState({ state, reason, message, since, next_step, caused }: ServiceState) {
  return { state, reason, message, since, next_step, caused: caused.map((each) => ({ ...each })) };
}

function seconds(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.floor(milliseconds / 1000);
}
