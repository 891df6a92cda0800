package workflowstest_test

import (
	"context"
	"fmt"

	"cloud.google.com/go/workflows/executions/apiv1/executionspb"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/e2e/workflowstest"
)

// An execution is started although its caller is told that the service was away.
func Example() {
	ctx := context.Background()
	s := workflowstest.New(workflowstest.Config{})
	defer s.Close()
	const workflow = "projects/p/locations/europe-west1/workflows/hello"
	source := "main:\n  params: [args]\n  steps:\n    - done:\n        return: '${\"hello \" + args.name}'\n"
	if err := s.Deploy(ctx, workflow, []byte(source), workflowstest.Deployment{}); err != nil {
		panic(err)
	}
	client, err := s.Client(ctx)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	s.Faults().Add(fault.Rule{Method: "CreateExecution", N: 1, Kind: fault.Lose})
	_, err = client.CreateExecution(ctx, &executionspb.CreateExecutionRequest{
		Parent: workflow, Execution: &executionspb.Execution{Argument: `{"name":"world"}`},
	})
	fmt.Println(err != nil)
	for _, e := range s.Executions() {
		if err := s.Wait(ctx, e.Name); err != nil {
			panic(err)
		}
		e, _ = s.Execution(e.Name)
		fmt.Println(e.State, e.Result)
	}
	// Output:
	// true
	// SUCCEEDED "hello world"
}
