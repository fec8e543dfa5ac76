import type { Health } from '../../../contract/schemas/answers/health.ts';
import type { Channel } from '../../../domain/release/channel.ts';
import type { ServiceAnswer, ServiceState } from '../../../domain/service-state/service-state.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { jsonAnswer, NO_STORE, type Answer } from '../../http/answer.ts';
import { servedAnnouncement } from '../release/announced-release.ts';
import { renderHealth, renderHealthBrief } from '../release/release-body.ts';
import type { ServingControl } from '../../serving/serving.ts';
import type { DaemonState } from '../../daemon-client/daemon-presence.ts';
import type { ReadServiceState } from '../../service/service-state-reader.ts';
import type { RefreshDiagnostics } from '../../serving/attestation-poller.ts';

export interface HealthRoutesOptions {
  readonly serving: Pick<ServingControl, 'verdict' | 'attestation' | 'state'>;
  readonly refresh: () => RefreshDiagnostics;
  /** Whether the daemon answers. */
  readonly daemon: () => DaemonState;
  /** The state of the service, which every surface shows. */
  readonly service: ReadServiceState;
  readonly isShuttingDown: () => boolean;
  readonly clock: Clock;
  readonly version: string;
}

/** The answers to probes; they read memory only and wait for nothing. */
export interface HealthRoutes {
  /** `/healthz`: 200 while the process is alive. */
  healthz(): Answer;
  /** `/readyz`: 200 while the official release is distributable and the server is not shutting down, else 503. */
  readyz(query: { readonly verbose: boolean }): Answer;
}

/** Makes the handlers of `/healthz` and `/readyz`. */
export function createHealthRoutes(options: HealthRoutesOptions): HealthRoutes {
  const { serving, clock } = options;
  const startedAt = clock.monotonic();

  return {
    healthz: () => {
      const refresh = options.refresh();
      const daemon = options.daemon();
      const attestation = serving.attestation();
      const verdicts = { official: serving.verdict('official'), localized: serving.verdict('localized') };
      const service = options.service();
      const nowSeconds = Math.floor(clock.now() / 1000);
      return jsonAnswer(
        {
          status: service.state === 'healthy' ? 'ok' : 'degraded',
          version: options.version,
          uptime_seconds: Math.floor((clock.monotonic() - startedAt) / 1000),
          refresh: {
            last_attempt_at: seconds(refresh.lastAttemptAt),
            last_success_at: seconds(refresh.lastSuccessAt),
            consecutive_failures: refresh.consecutiveFailures,
            last_error_code: refresh.lastErrorCode,
          },
          daemon,
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
    },
    readyz: ({ verbose }) => {
      const verdict = serving.verdict('official');
      const isReady = verdict.distributable && !options.isShuttingDown();
      return jsonAnswer(
        {
          ...renderHealth(verdict, verbose),
          ...(options.isShuttingDown() ? { shutting_down: true } : {}),
        },
        { cacheControl: NO_STORE, status: isReady ? 200 : 503 },
      );
    },
  };
}

function announcedOf(
  serving: HealthRoutesOptions['serving'],
  channel: Channel,
): Health['announced'][Channel] {
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
