export { Analytics } from './analytics.ts';
export { AnalyticsError, CallsLostError, type AnalyticsErrorCode } from './error.ts';
export type {
  AcceptedCall,
  AliasCall,
  CommonFields,
  GroupCall,
  IdentifyCall,
  Identity,
  PageCall,
  ScreenCall,
  TrackCall,
  WithoutUserId,
  WithUserId,
} from './calls.ts';
export type { KafkaTransportOptions } from './kafka-options.ts';
export type { RegistryOptions } from './registry-options.ts';
export type { AnalyticsOptions, CloseOptions } from './options.ts';
