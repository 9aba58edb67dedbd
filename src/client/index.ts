export { Analytics } from './analytics.ts';
export { AnalyticsError, CallsLostError, type AnalyticsErrorCode } from './errors.ts';
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
export type { RegistryOptions } from './kafka-options.ts';
export type { AnalyticsOptions, CloseOptions } from './options.ts';
