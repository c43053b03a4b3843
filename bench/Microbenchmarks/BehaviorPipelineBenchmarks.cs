using System.Linq.Expressions;
using System.Runtime.CompilerServices;
using BenchmarkDotNet.Attributes;

namespace RedKite.Microbenchmarks;

/// <summary>
/// The chain of behaviors against the two usual implementations: closures allocated per call, and delegates compiled from
/// expression trees, each of which calls its behavior with the next delegate. All three have the same behaviors around the
/// same final step. An operation is one iteration, with the call created before it.
/// </summary>
public class BehaviorPipelineBenchmarks
{
    private const int Iterations = 1000;
    private const int Failures = 100;

    private static readonly InvalidOperationException Failure = new("thrown at the end");

    private Behavior _chain = null!;
    private Behavior _failing = null!;
    private Next _compiled = null!;
    private Next _compiledFailing = null!;
    private IUsualBehavior[] _usual = [];

    private delegate void Next(ref CommandCall call);

    private interface IUsualBehavior
    {
        void Invoke(ref CommandCall call, Next next);
    }

    /// <summary>The number of distinct classes among the behaviors.</summary>
    public enum BehaviorClasses
    {
        /// <summary>Every behavior has a class of its own, as in a host.</summary>
        OneEach,

        /// <summary>Four alternating classes.</summary>
        FourByTurns,
    }

    /// <summary>The work of each behavior.</summary>
    public enum BehaviorWork
    {
        /// <summary>Counts the command after the next behavior returns, so each called behavior needs a frame.</summary>
        After,

        /// <summary>The same in a finally block.</summary>
        Finally,

        /// <summary>Counts before passing the command on: a tail call needs no frame, in the other implementations neither.</summary>
        Before,
    }

    [Params(10, 20, 40)]
    public int Depth { get; set; }

    [ParamsAllValues]
    public BehaviorClasses Classes { get; set; }

    [ParamsAllValues]
    public BehaviorWork Work { get; set; }

    private static int FinalCalls { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _chain = Behavior.Link(MakeAll<Behavior>(typeof(After<>), typeof(Finally<>), typeof(Before<>)), new Last());
        _failing = Behavior.Link(MakeAll<Behavior>(typeof(After<>), typeof(Finally<>), typeof(Before<>)), new LastThrows());
        _usual = MakeAll<IUsualBehavior>(typeof(UsualAfter<>), typeof(UsualFinally<>), typeof(UsualBefore<>));
        _compiled = Compile(FinalStep);
        _compiledFailing = Compile(FinalStepThrows);
    }

    [Benchmark(OperationsPerInvoke = Iterations)]
    public void Chain()
    {
        CommandCall call = default;
        for (int i = 0; i < Iterations; i++) _chain.Invoke(ref call);
    }

    [Benchmark(Baseline = true, OperationsPerInvoke = Iterations)]
    public void Compiled()
    {
        CommandCall call = default;
        for (int i = 0; i < Iterations; i++) _compiled(ref call);
    }

    [Benchmark(OperationsPerInvoke = Iterations)]
    public void Closures()
    {
        CommandCall call = default;
        for (int i = 0; i < Iterations; i++) Close(FinalStep)(ref call);
    }

    [Benchmark(OperationsPerInvoke = Failures)]
    public int ChainThrows()
    {
        CommandCall call = default;
        int caught = 0;
        for (int i = 0; i < Failures; i++)
        {
            try
            {
                _failing.Invoke(ref call);
            }
            catch (InvalidOperationException)
            {
                caught++;
            }
        }

        return caught;
    }

    [Benchmark(OperationsPerInvoke = Failures)]
    public int CompiledThrows()
    {
        CommandCall call = default;
        int caught = 0;
        for (int i = 0; i < Failures; i++)
        {
            try
            {
                _compiledFailing(ref call);
            }
            catch (InvalidOperationException)
            {
                caught++;
            }
        }

        return caught;
    }

    [Benchmark(OperationsPerInvoke = Failures)]
    public int ClosuresThrow()
    {
        CommandCall call = default;
        int caught = 0;
        for (int i = 0; i < Failures; i++)
        {
            try
            {
                Close(FinalStepThrows)(ref call);
            }
            catch (InvalidOperationException)
            {
                caught++;
            }
        }

        return caught;
    }

    /// <summary>The cost of the exception alone: thrown by a callee and caught at once.</summary>
    [Benchmark(OperationsPerInvoke = Failures)]
    public int ThrowAlone()
    {
        int caught = 0;
        for (int i = 0; i < Failures; i++)
        {
            try
            {
                Throw();
            }
            catch (InvalidOperationException)
            {
                caught++;
            }
        }

        return caught;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Throw() => throw Failure;

    // Parameter sets do not share classes, because the runtime compiles a class for its behaviour under the first set. Nor do
    // classes share code, because their type arguments are value types.
    private T[] MakeAll<T>(Type after, Type @finally, Type before)
    {
        Type open = Work switch { BehaviorWork.After => after, BehaviorWork.Finally => @finally, _ => before };
        Type first = Classes == BehaviorClasses.OneEach ? typeof(OneEachMark) : typeof(FourMark);
        for (int i = 0; i < Depth; i += 10) first = typeof(DepthMark<>).MakeGenericType(first);
        var made = new T[Depth];
        Type mark = first;
        for (int i = 0; i < Depth; i++)
        {
            made[i] = (T)Activator.CreateInstance(open.MakeGenericType(mark))!;
            bool startsAgain = Classes == BehaviorClasses.FourByTurns && i % 4 == 3;
            mark = startsAgain ? first : typeof(PlaceMark<>).MakeGenericType(mark);
        }

        return made;
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

    private void FinalStep(ref CommandCall call) => FinalCalls++;

    private void FinalStepThrows(ref CommandCall call) => throw Failure;

    private readonly struct OneEachMark;

    private readonly struct FourMark;

    private readonly struct DepthMark<T>;

    private readonly struct PlaceMark<T>;

    private sealed class Last : Behavior
    {
        public override void Invoke(ref CommandCall call) => FinalCalls++;
    }

    private sealed class LastThrows : Behavior
    {
        public override void Invoke(ref CommandCall call) => throw Failure;
    }

    private sealed class After<TMark> : Behavior
    {
        internal int Calls;

        public override void Invoke(ref CommandCall call)
        {
            Next.Invoke(ref call);
            Calls++;
        }
    }

    private sealed class Finally<TMark> : Behavior
    {
        internal int Calls;

        public override void Invoke(ref CommandCall call)
        {
            try
            {
                Next.Invoke(ref call);
            }
            finally
            {
                Calls++;
            }
        }
    }

    private sealed class Before<TMark> : Behavior
    {
        internal int Calls;

        public override void Invoke(ref CommandCall call)
        {
            Calls++;
            Next.Invoke(ref call);
        }
    }

    private sealed class UsualAfter<TMark> : IUsualBehavior
    {
        internal int Calls;

        public void Invoke(ref CommandCall call, Next next)
        {
            next(ref call);
            Calls++;
        }
    }

    private sealed class UsualFinally<TMark> : IUsualBehavior
    {
        internal int Calls;

        public void Invoke(ref CommandCall call, Next next)
        {
            try
            {
                next(ref call);
            }
            finally
            {
                Calls++;
            }
        }
    }

    private sealed class UsualBefore<TMark> : IUsualBehavior
    {
        internal int Calls;

        public void Invoke(ref CommandCall call, Next next)
        {
            Calls++;
            next(ref call);
        }
    }
}
