export { Analytics } from './analytics.ts';
export { AnalyticsError, type AnalyticsErrorCode } from './error.ts';
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
} from './calls.ts';
export type { AnalyticsOptions, CloseOptions, KafkaTransportOptions } from './options.ts';
