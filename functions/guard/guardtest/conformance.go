package guardtest

import (
	"context"
	"testing"
	"time"

	"example.com/runonce/functions/guard"
)

// Harness is one empty store, as RunStoreTests needs it.
type Harness struct {
	Store guard.Store
	// Advance moves the server's clock on by d, or makes every record older by d, which is the same. Nil: the clock
	// cannot be moved, and what needs it is skipped with a reason.
	Advance func(d time.Duration)
	// Delete removes a record without a condition, as a TTL policy does. Nil: what needs it is skipped.
	Delete func(ctx context.Context, token string) error
	// MaxBody is the biggest body in bytes that the store must keep. Default 256 KiB.
	MaxBody int
	// Coarse is the unit to which the store cuts times. Default 1 ns.
	Coarse time.Duration
}

// RunStoreTests holds the store that newStore makes, and the guard over it, to everything that a store must do: the
// Store contract, then the thirty-three ways in which idempotency libraries have failed, each a subtest by number.
// What a store cannot show is skipped with the name of the test that shows it.
func RunStoreTests(t *testing.T, newStore func(t *testing.T) Harness) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newBench(t, newStore(t)))
		})
	}
}

var cases = []struct {
	name string
	run  func(*bench)
}{
	{"Contract_RoundTrip", contractRoundTrip},
	{"Contract_Conditions", contractConditions},
	{"Contract_Stamps", contractStamps},
	{"Contract_OneWinner", contractOneWinner},
	{"B1_CrashedClaimIsTakenOver", crashedClaimIsTakenOver},
	{"B2_LeaseOfNothing", leaseOfNothing},
	{"B3_NoLeaseFieldIsLocked", noLeaseFieldIsLocked},
	{"B4_TakeoverIsConditional", takeoverIsConditional},
	{"B5_ZombieChangesNothing", zombieChangesNothing},
	{"B6_RefusedCallerChangesNothing", refusedCallerChangesNothing},
	{"B7_HandlerChangesItsInput", handlerChangesItsInput},
	{"B8_NestedGuardsShareNothing", nestedGuardsShareNothing},
	{"B9_NothingIsAResult", nothingIsAResult},
	{"B10_FingerprintMatrix", fingerprintMatrix},
	{"B11_CacheIsInvisible", cacheIsInvisible},
	{"B12_BadTokenIsRefused", badTokenIsRefused},
	{"B13_CanonicalFingerprint", canonicalFingerprint},
	{"B14_NamesInCodeDoNotMatter", namesInCodeDoNotMatter},
	{"B15_UnitsOfTime", unitsOfTime},
	{"B16_SkewedClocks", skewedClocks},
	{"B17_StoreFailsAfterTheEffect", storeFailsAfterTheEffect},
	{"B18_LostAnswers", lostAnswers},
	{"B19_ClientSendsTwice", clientSendsTwice},
	{"B20_RecoveryRace", recoveryRace},
	{"B21_LoserStops", loserStops},
	{"B22_ConcurrentStepsByName", concurrentStepsByName},
	{"B23_RetentionOutlivesTheRun", retentionOutlivesTheRun},
	{"B24_RetryKeepsRerunChanges", retryKeepsRerunChanges},
	{"B25_LargeResult", largeResult},
	{"B26_ResponseByteForByte", responseByteForByte},
	{"B27_RecordVanishes", recordVanishes},
	{"B28_EarlyFailureFreesTheClaim", earlyFailureFreesTheClaim},
	{"B29_ClassesOfErrors", classesOfErrors},
	{"B30_LostRenewalAnswer", lostRenewalAnswer},
	{"B31_DuplicateIsNoError", duplicateIsNoError},
	{"B32_ErrorsSurviveTheStore", errorsSurviveTheStore},
	{"B33_LocalStateIsBounded", localStateIsBounded},
	{"History_TellsTheStory", historyTellsTheStory},
	{"Schema_NewerIsRefused", newerSchemaIsRefused},
	{"Settle_ByAnOperator", settleByAnOperator},
}
