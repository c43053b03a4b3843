using System.Linq.Expressions;
using System.Runtime.CompilerServices;
using BenchmarkDotNet.Attributes;
using RedKite.Server;

namespace RedKite.Microbenchmarks;

/// <summary>
/// The chain of behaviors against the two usual builds of one: closures made for each call, and delegates compiled from
/// expression trees, each of which calls its behavior with the delegate of the next one. In all three, behaviors that do
/// the same around the same last step; an operation is one passage, and the call is made before it for all of them.
/// </summary>
public class BehaviorPipelineBenchmarks
{
    private const int Passages = 1000;
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

    /// <summary>How many classes there are behind the behaviors.</summary>
    public enum BehaviorClasses
    {
        /// <summary>Every behavior has a class of its own, as a host's have.</summary>
        OneEach,

        /// <summary>Four classes by turns.</summary>
        FourByTurns,
    }

    /// <summary>What each behavior does.</summary>
    public enum BehaviorWork
    {
        /// <summary>Counts the command once it is back: a frame must stay for each behavior that is called.</summary>
        After,

        /// <summary>The same in a finally block.</summary>
        Finally,

        /// <summary>Counts first and passes the command on: a last call needs no frame, in the usual builds neither.</summary>
        Before,
    }

    [Params(10, 20, 40)]
    public int Depth { get; set; }

    [ParamsAllValues]
    public BehaviorClasses Classes { get; set; }

    [ParamsAllValues]
    public BehaviorWork Work { get; set; }

    private static int LastCalls { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        _chain = Behavior.Link(MakeAll<Behavior>(typeof(After<>), typeof(Finally<>), typeof(Before<>)), new Last());
        _failing = Behavior.Link(MakeAll<Behavior>(typeof(After<>), typeof(Finally<>), typeof(Before<>)), new LastThrows());
        _usual = MakeAll<IUsualBehavior>(typeof(UsualAfter<>), typeof(UsualFinally<>), typeof(UsualBefore<>));
        _compiled = Compile(UsualLast);
        _compiledFailing = Compile(UsualLastThrows);
    }

    [Benchmark(OperationsPerInvoke = Passages)]
    public void Chain()
    {
        CommandCall call = default;
        for (int i = 0; i < Passages; i++) _chain.Invoke(ref call);
    }

    [Benchmark(Baseline = true, OperationsPerInvoke = Passages)]
    public void Compiled()
    {
        CommandCall call = default;
        for (int i = 0; i < Passages; i++) _compiled(ref call);
    }

    [Benchmark(OperationsPerInvoke = Passages)]
    public void Closures()
    {
        CommandCall call = default;
        for (int i = 0; i < Passages; i++) Close(UsualLast)(ref call);
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
                Close(UsualLastThrows)(ref call);
            }
            catch (InvalidOperationException)
            {
                caught++;
            }
        }

        return caught;
    }

    /// <summary>What an exception costs by itself: thrown by what is called, and caught at once.</summary>
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

    // No two sets of parameters share a class: the runtime compiles it once, for what it did in the first of them. Nor do two
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

    private void UsualLast(ref CommandCall call) => LastCalls++;

    private void UsualLastThrows(ref CommandCall call) => throw Failure;

    private readonly struct OneEachMark;

    private readonly struct FourMark;

    private readonly struct DepthMark<T>;

    private readonly struct PlaceMark<T>;

    private sealed class Last : Behavior
    {
        public override void Invoke(ref CommandCall call) => LastCalls++;
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
