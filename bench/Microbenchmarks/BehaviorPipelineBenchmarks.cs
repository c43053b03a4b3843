using System.Linq.Expressions;
using System.Runtime.CompilerServices;
using BenchmarkDotNet.Attributes;
using RedKite.Server.Execution;

namespace RedKite.Microbenchmarks;

/// <summary>
/// The chain of behaviors against the two usual builds of one: closures made for each call, and delegates compiled from
/// expression trees. In all three, behaviors of four classes by turns, each counting its calls, around the same last step.
/// </summary>
public class BehaviorPipelineBenchmarks
{
    private static readonly InvalidOperationException Failure = new("thrown at the end");

    private BehaviorChain _chain;
    private BehaviorChain _failing;
    private Next _compiled = null!;
    private Next _compiledFailing = null!;
    private IUsualBehavior[] _usual = [];

    private delegate void Next(ref CommandCall call);

    private interface IUsualBehavior
    {
        void Invoke(ref CommandCall call, Next next);
    }

    [Params(10, 20, 40)]
    public int Depth { get; set; }

    private static int LastCalls { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        IBehavior[] behaviors = [.. Enumerable.Range(0, Depth).Select<int, IBehavior>(i => (i % 4) switch { 0 => new First(), 1 => new Second(), 2 => new Third(), _ => new Fourth() })];
        _chain = BehaviorChain.Compose(behaviors, Last);
        _failing = BehaviorChain.Compose(behaviors, LastThrows);
        _usual = [.. Enumerable.Range(0, Depth).Select<int, IUsualBehavior>(i => (i % 4) switch { 0 => new UsualFirst(), 1 => new UsualSecond(), 2 => new UsualThird(), _ => new UsualFourth() })];
        _compiled = Compile(UsualLast);
        _compiledFailing = Compile(UsualLastThrows);
    }

    [Benchmark(Baseline = true)]
    public void Chain()
    {
        CommandCall call = default;
        _chain.Invoke(ref call);
    }

    [Benchmark]
    public void Compiled()
    {
        CommandCall call = default;
        _compiled(ref call);
    }

    [Benchmark]
    public void Closures()
    {
        CommandCall call = default;
        Close(UsualLast)(ref call);
    }

    [Benchmark]
    public bool ChainThrows()
    {
        CommandCall call = default;
        try
        {
            _failing.Invoke(ref call);
            return false;
        }
        catch (InvalidOperationException)
        {
            return true;
        }
    }

    [Benchmark]
    public bool CompiledThrows()
    {
        CommandCall call = default;
        try
        {
            _compiledFailing(ref call);
            return false;
        }
        catch (InvalidOperationException)
        {
            return true;
        }
    }

    [Benchmark]
    public bool ClosuresThrow()
    {
        CommandCall call = default;
        try
        {
            Close(UsualLastThrows)(ref call);
            return false;
        }
        catch (InvalidOperationException)
        {
            return true;
        }
    }

    /// <summary>The least that an exception through so many frames costs: static methods that call themselves, and nothing else.</summary>
    [Benchmark]
    public bool PlainCallsThrow()
    {
        try
        {
            CallPlainly(Depth);
            return false;
        }
        catch (InvalidOperationException)
        {
            return true;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void CallPlainly(int depth)
    {
        if (depth == 0) throw Failure;
        CallPlainly(depth - 1);
        LastCalls++;
    }

    private Next Compile(Next last)
    {
        Next next = last;
        foreach (IUsualBehavior behavior in _usual.Reverse())
        {
            ParameterExpression call = Expression.Parameter(typeof(CommandCall).MakeByRefType());
            MethodCallExpression body = Expression.Call(Expression.Constant(behavior), nameof(IUsualBehavior.Invoke), null, call, Expression.Constant(next));
            next = Expression.Lambda<Next>(body, call).Compile();
        }

        return next;
    }

    private Next Close(Next last)
    {
        Next next = last;
        for (int i = _usual.Length - 1; i >= 0; i--)
        {
            IUsualBehavior behavior = _usual[i];
            Next inner = next;
            next = (ref CommandCall call) => behavior.Invoke(ref call, inner);
        }

        return next;
    }

    private void Last(ref CommandCall call, BehaviorChain next) => LastCalls++;

    private void LastThrows(ref CommandCall call, BehaviorChain next) => throw Failure;

    private void UsualLast(ref CommandCall call) => LastCalls++;

    private void UsualLastThrows(ref CommandCall call) => throw Failure;

    private sealed class First : IBehavior
    {
        internal int Calls { get; private set; }

        public void Invoke(ref CommandCall call, BehaviorChain next)
        {
            next.Invoke(ref call);
            Calls++;
        }
    }

    private sealed class Second : IBehavior
    {
        internal int Calls { get; private set; }

        public void Invoke(ref CommandCall call, BehaviorChain next)
        {
            next.Invoke(ref call);
            Calls++;
        }
    }

    private sealed class Third : IBehavior
    {
        internal int Calls { get; private set; }

        public void Invoke(ref CommandCall call, BehaviorChain next)
        {
            next.Invoke(ref call);
            Calls++;
        }
    }

    private sealed class Fourth : IBehavior
    {
        internal int Calls { get; private set; }

        public void Invoke(ref CommandCall call, BehaviorChain next)
        {
            next.Invoke(ref call);
            Calls++;
        }
    }

    private sealed class UsualFirst : IUsualBehavior
    {
        internal int Calls { get; private set; }

        public void Invoke(ref CommandCall call, Next next)
        {
            next(ref call);
            Calls++;
        }
    }

    private sealed class UsualSecond : IUsualBehavior
    {
        internal int Calls { get; private set; }

        public void Invoke(ref CommandCall call, Next next)
        {
            next(ref call);
            Calls++;
        }
    }

    private sealed class UsualThird : IUsualBehavior
    {
        internal int Calls { get; private set; }

        public void Invoke(ref CommandCall call, Next next)
        {
            next(ref call);
            Calls++;
        }
    }

    private sealed class UsualFourth : IUsualBehavior
    {
        internal int Calls { get; private set; }

        public void Invoke(ref CommandCall call, Next next)
        {
            next(ref call);
            Calls++;
        }
    }
}
